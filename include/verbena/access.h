#pragma once

#include <cstdint>

namespace verbena {

// The rights to access memory. A set with one bit per right: combine them with |.
class Access {
 public:
  static const Access kNone;
  static const Access kLocalRead;   // may be sent from
  static const Access kLocalWrite;  // may be received into
  static const Access kRemoteRead;
  static const Access kRemoteWrite;   // needs kLocalWrite: an owner cannot grant more than it has
  static const Access kRemoteAtomic;  // likewise
  static const Access kWindowBind;    // windows may be bound to the region

  static const Access kLocal;   // both local rights
  static const Access kRemote;  // all three remote rights
  static const Access kAll;

  constexpr Access() = default;

  // Whether it has all of the others, or at least one of them.
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

// Which queue pairs may use the R_Key of a bound window: any of its domain (1), the one that it was
// bound on (2A), or that one only if its domain is the window's (2B). Type 1 may be bound again
// while it is bound, and is unbound by a bind of length 0; type 2 is invalidated.
enum class WindowType : uint8_t { k1, k2A, k2B };

}  // namespace verbena
