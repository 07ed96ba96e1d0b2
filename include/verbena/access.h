#pragma once

#include <cstdint>

namespace verbena {

// What may be done to memory, and by whom. A set, one bit a right: combine with |.
class Access {
 public:
  static const Access kNone;
  static const Access kLocalRead;   // sent from
  static const Access kLocalWrite;  // received into
  static const Access kRemoteRead;
  static const Access kRemoteWrite;   // needs kLocalWrite: an owner cannot grant more than it has
  static const Access kRemoteAtomic;  // likewise
  static const Access kWindowBind;    // windows may be bound to it

  static const Access kLocal;   // both of them
  static const Access kRemote;  // all three
  static const Access kAll;

  constexpr Access() = default;

  // Whether it has each of the others, or at least one of them.
  [[nodiscard]] constexpr bool Has(Access others) const {
    return (bits_ & others.bits_) == others.bits_;
  }
  [[nodiscard]] constexpr bool HasAny(Access others) const { return (bits_ & others.bits_) != 0; }
  [[nodiscard]] constexpr Access Without(Access others) const {
    return Access(static_cast<uint8_t>(bits_ & ~others.bits_));
  }
  [[nodiscard]] constexpr uint8_t bits() const { return bits_; }
  [[nodiscard]] static constexpr Access FromBits(uint8_t bits) { return Access(bits); }

  [[nodiscard]] friend constexpr Access operator|(Access a, Access b) {
    return Access(static_cast<uint8_t>(a.bits_ | b.bits_));
  }
  friend constexpr bool operator==(Access, Access) = default;

 private:
  constexpr explicit Access(uint8_t bits) : bits_(bits) {}

  uint8_t bits_ = 0;
};

inline constexpr Access Access::kNone = Access(0);
inline constexpr Access Access::kLocalRead = Access(1 << 0);
inline constexpr Access Access::kLocalWrite = Access(1 << 1);
inline constexpr Access Access::kRemoteRead = Access(1 << 2);
inline constexpr Access Access::kRemoteWrite = Access(1 << 3);
inline constexpr Access Access::kRemoteAtomic = Access(1 << 4);
inline constexpr Access Access::kWindowBind = Access(1 << 5);
inline constexpr Access Access::kLocal = kLocalRead | kLocalWrite;
inline constexpr Access Access::kRemote = kRemoteRead | kRemoteWrite | kRemoteAtomic;
inline constexpr Access Access::kAll = kLocal | kRemote | kWindowBind;

// Who may use the R_Key of a bound window: any queue pair of its domain (1), the one that it was
// bound on (2A), and that one only if its domain is the window's (2B). Type 1 may be bound again
// while it is bound, and is unbound by a bind to no bytes; type 2 is invalidated.
enum class WindowType : uint8_t { k1, k2A, k2B };

}  // namespace verbena
