#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "verbena/access.h"
#include "verbena/numbers.h"

namespace verbena::memory {

using PdId = StrongId<struct PdIdTag, uint32_t>;
using ConsumerId = StrongId<struct ConsumerIdTag, uint32_t>;

// The rights that the owner of memory needs itself to grant `rights`: no owner grants more than it
// has. (IBA 10.6.3: remote write and atomics need local write.)
constexpr Access NeededToGrant(Access rights) {
  Access needed;
  if (rights.HasAny(Access::kRemoteRead)) needed = needed | Access::kLocalRead;
  if (rights.HasAny(Access::kRemoteWrite | Access::kRemoteAtomic)) {
    needed = needed | Access::kLocalWrite;
  }
  return needed;
}

// The kind of an access.
enum class AccessKind : uint8_t {
  kLocalRead,     // gather list of a send or write
  kLocalWrite,    // scatter list of a receive; arriving read response
  kBind,          // window onto a region
  kRemoteRead,    // RDMA read
  kRemoteWrite,   // RDMA write
  kRemoteAtomic,  // compare-and-swap, fetch-and-add: 8 aligned bytes
  kTaskSend,      // iSCSI R2T: the target requests data of a task
  kTaskReceive,   // iSCSI Data-In: the target delivers data of a task
};

// The origin of an access. Each origin uses its own kind of entry.
enum class Origin : uint8_t { kLocal, kRemote, kTask };

struct AccessTraits {
  Origin origin;
  Access right;
  bool writes;
  bool has_purpose;  // check g applies
};

namespace internal {

inline constexpr AccessTraits kAccessTraits[] = {
    {Origin::kLocal, Access::kLocalRead, false, false},     // kLocalRead
    {Origin::kLocal, Access::kLocalWrite, true, false},     // kLocalWrite
    {Origin::kLocal, Access::kNone, false, true},           // kBind
    {Origin::kRemote, Access::kRemoteRead, false, false},   // kRemoteRead
    {Origin::kRemote, Access::kRemoteWrite, true, false},   // kRemoteWrite
    {Origin::kRemote, Access::kRemoteAtomic, true, false},  // kRemoteAtomic
    {Origin::kTask, Access::kRemoteRead, false, true},      // kTaskSend
    {Origin::kTask, Access::kRemoteWrite, true, true},      // kTaskReceive
};
static_assert(std::size(kAccessTraits) == static_cast<size_t>(AccessKind::kTaskReceive) + 1);

}  // namespace internal

constexpr AccessTraits TraitsOf(AccessKind access) {
  return internal::kAccessTraits[static_cast<size_t>(access)];
}

// The queue pair that accesses memory.
struct Accessor {
  PdId pd;
  QpNumber qp;
};

const char* NameOf(AccessKind access);

}  // namespace verbena::memory
