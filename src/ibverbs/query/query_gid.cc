// ibv_query_gid and its variants.

#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/result.h"
#include "ibverbs/failure.h"
#include "ibverbs/objects/address_vector.h"
#include "ibverbs/objects/objects.h"

namespace verbena::ibverbs {
namespace {

ibv_gid_entry EntryOf(const Context& context, const GidEntry& entry, size_t index) {
  const bool roce = context.settings.link_layer == LinkLayer::kRoce;
  // RoCE v2 is not what an RNIC speaks.
  const bool is_v2 = roce && context.settings.transport == TransportType::kRoce;
  return {.gid = ToVerbs(entry.gid),
          .gid_index = static_cast<uint32_t>(index),
          .port_num = 1,
          .gid_type = static_cast<uint32_t>(is_v2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_IB),
          .ndev_ifindex = roce ? entry.interface_index : 0};
}

// `size` differs in programs that were compiled against other headers.
void Store(const ibv_gid_entry& entry, void* out, size_t size) {
  std::memset(out, 0, size);
  std::memcpy(out, &entry, std::min(size, sizeof entry));
}

// 0, or an error number: ENODATA if the entry is empty.
int Find(ibv_context* context, uint32_t port, uint32_t index, ibv_gid_entry& out) {
  Context& own = Cast(context);
  const auto entries = own.gids.Read();
  if (!entries) return Failed("ibv_query_gid", entries.error());
  if (port != 1 || index >= GidTable::ShownLength(*entries)) {
    return Failed("ibv_query_gid", Invalid("there is no GID " + std::to_string(index)));
  }
  if (index >= entries->size() || !(*entries)[index]) return ENODATA;
  out = EntryOf(own, *(*entries)[index], index);
  return 0;
}

}  // namespace
}  // namespace verbena::ibverbs

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): the verbs are global

int ibv_query_gid(ibv_context* context, uint8_t port, int index, ibv_gid* gid) try {
  ibv_gid_entry entry{};
  const int error = Find(context, port, static_cast<uint32_t>(index), entry);
  // An empty entry reads as zeros.
  if (error != 0 && error != ENODATA) return MinusOne(error);
  *gid = entry.gid;
  return 0;
} catch (...) {
  return MinusOne(Thrown("ibv_query_gid"));
}

int _ibv_query_gid_ex(ibv_context* context, uint32_t port, uint32_t index, ibv_gid_entry* out,
                      uint32_t flags, size_t size) try {
  if (flags != 0) return Failed("ibv_query_gid_ex", Invalid("flags must be 0"));
  ibv_gid_entry entry{};
  const int error = Find(context, port, index, entry);
  if (error != 0) return error;
  Store(entry, out, size);
  return 0;
} catch (...) {
  return Thrown("ibv_query_gid_ex");
}

ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* out, size_t entries_max,
                             uint32_t flags, size_t size) try {
  if (flags != 0) return -Failed("ibv_query_gid_table", Invalid("flags must be 0"));
  Context& own = Cast(context);
  const auto entries = own.gids.Read();
  if (!entries) return -Failed("ibv_query_gid_table", entries.error());
  size_t count = 0;
  for (size_t i = 0; i < entries->size(); ++i) {
    if (!(*entries)[i]) continue;
    if (count == entries_max) {
      return -Failed("ibv_query_gid_table", Invalid("the table has more entries than max_entries"));
    }
    Store(EntryOf(own, *(*entries)[i], i), reinterpret_cast<char*>(out) + count * size, size);
    ++count;
  }
  return static_cast<ssize_t>(count);
} catch (...) {
  return -Thrown("ibv_query_gid_table");
}

extern "C" {
// Not in the header: only rdma-core's own programs call it. Their enumeration of types has 0 for
// both InfiniBand and RoCE v1.
int ibv_query_gid_type(ibv_context* context, uint8_t port, unsigned int index,
                       unsigned int* type) try {
  ibv_gid_entry entry{};
  const int error = Find(context, port, index, entry);
  // An empty entry has type 0.
  if (error != 0 && error != ENODATA) return MinusOne(error);
  *type = entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? 1 : 0;
  return 0;
} catch (...) {
  return MinusOne(Thrown("ibv_query_gid_type"));
}
}
