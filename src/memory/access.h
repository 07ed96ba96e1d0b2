#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

#include "verbena/numbers.h"

namespace verbena::memory {

using PdId = StrongId<struct PdIdTag, uint32_t>;
using ConsumerId = StrongId<struct ConsumerIdTag, uint32_t>;

// What an entry of the protection table grants. A set, one bit a right.
class Rights {
 public:
  static const Rights kNone, kLocalRead, kLocalWrite, kRemoteRead, kRemoteWrite, kRemoteAtomic,
      kWindowBind, kAll;
  static const Rights kRemote;  // the three remote ones

  constexpr Rights() = default;

  constexpr bool Has(Rights other) const { return (bits_ & other.bits_) == other.bits_; }
  constexpr bool HasAny(Rights other) const { return (bits_ & other.bits_) != 0; }
  constexpr Rights Without(Rights other) const {
    return Rights(static_cast<uint8_t>(bits_ & ~other.bits_));
  }
  constexpr uint8_t bits() const { return bits_; }
  static constexpr Rights FromBits(uint8_t bits) { return Rights(bits); }

  friend constexpr Rights operator|(Rights a, Rights b) {
    return Rights(static_cast<uint8_t>(a.bits_ | b.bits_));
  }
  friend constexpr bool operator==(Rights, Rights) = default;

 private:
  constexpr explicit Rights(uint8_t bits) : bits_(bits) {}

  uint8_t bits_ = 0;
};

inline constexpr Rights Rights::kNone = Rights(0);
inline constexpr Rights Rights::kLocalRead = Rights(1 << 0);
inline constexpr Rights Rights::kLocalWrite = Rights(1 << 1);
inline constexpr Rights Rights::kRemoteRead = Rights(1 << 2);
inline constexpr Rights Rights::kRemoteWrite = Rights(1 << 3);
inline constexpr Rights Rights::kRemoteAtomic = Rights(1 << 4);
inline constexpr Rights Rights::kWindowBind = Rights(1 << 5);
inline constexpr Rights Rights::kAll = Rights((1 << 6) - 1);
inline constexpr Rights Rights::kRemote = kRemoteRead | kRemoteWrite | kRemoteAtomic;

// What the owner of memory must itself be able to do there before it may grant `rights` on it: no
// owner grants more than it has. (IBA 10.6.3: remote write and atomics need local write.)
constexpr Rights NeededToGrant(Rights rights) {
  Rights needed;
  if (rights.HasAny(Rights::kRemoteRead)) needed = needed | Rights::kLocalRead;
  if (rights.HasAny(Rights::kRemoteWrite | Rights::kRemoteAtomic)) {
    needed = needed | Rights::kLocalWrite;
  }
  return needed;
}

// Something that wants to touch bytes.
enum class Access : uint8_t {
  kLocalRead,     // gather list of a send or write
  kLocalWrite,    // scatter list of a receive; arriving read response
  kBind,          // window onto a region
  kRemoteRead,    // RDMA read
  kRemoteWrite,   // RDMA write
  kRemoteAtomic,  // compare-and-swap, fetch-and-add: 8 aligned bytes
  kTaskSend,      // iSCSI R2T: the target asks for data of a task
  kTaskReceive,   // iSCSI Data-In: the target delivers data of a task
};

// Who asks: each origin goes by its own kind of entry.
enum class Origin : uint8_t { kLocal, kRemote, kTask };

struct AccessTraits {
  Origin origin;
  Rights right;
  bool writes;
  bool has_purpose;  // check g applies
};

namespace internal {

inline constexpr AccessTraits kAccessTraits[] = {
    {Origin::kLocal, Rights::kLocalRead, false, false},     // kLocalRead
    {Origin::kLocal, Rights::kLocalWrite, true, false},     // kLocalWrite
    {Origin::kLocal, Rights::kNone, false, true},           // kBind
    {Origin::kRemote, Rights::kRemoteRead, false, false},   // kRemoteRead
    {Origin::kRemote, Rights::kRemoteWrite, true, false},   // kRemoteWrite
    {Origin::kRemote, Rights::kRemoteAtomic, true, false},  // kRemoteAtomic
    {Origin::kTask, Rights::kRemoteRead, false, true},      // kTaskSend
    {Origin::kTask, Rights::kRemoteWrite, true, true},      // kTaskReceive
};
static_assert(std::size(kAccessTraits) == static_cast<size_t>(Access::kTaskReceive) + 1);

}  // namespace internal

constexpr AccessTraits TraitsOf(Access access) {
  return internal::kAccessTraits[static_cast<size_t>(access)];
}

// The queue pair on whose behalf memory is touched.
struct Accessor {
  PdId pd;
  QpNumber qp;
};

const char* NameOf(Access access);
std::string ToString(Rights rights);  // "local read, remote write"; "none"

}  // namespace verbena::memory
