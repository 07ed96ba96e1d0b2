// Checks that the program has mapped what it registers.

#include <cerrno>
#include <cstdio>
#include <variant>

#include "adapter/control/adapter.h"
#include "adapter/control/impl.h"
#include "base/mappings.h"

namespace verbena::adapter {
namespace {

// The kernel pins memory for writing if a region has one of these rights (ib_access_writable): a
// window may grant write access that its region does not grant.
constexpr Access kNeedWritable =
    Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteAtomic | Access::kWindowBind;

Error MappingError(const Mappings::Lack& lack, bool for_write) {
  const char* const what = !lack.is_mapped ? "mapped" : for_write ? "writable" : "readable";
  char text[80];
  std::snprintf(text, sizeof(text), "the memory at 0x%llx is not %s",
                static_cast<unsigned long long>(lack.address), what);
  return {ErrorCode::kSystem, text, EFAULT};
}

}  // namespace

// Managed memory is always accessible, whatever the present protection of the program's mapping.
// Memory that is managed in part is refused elsewhere.
std::optional<uint64_t> Adapter::UnmanagedAddress(const memory::LinearBacking& linear,
                                                  uint64_t length) {
  const EngineLock lock(impl_->engine);
  const auto found = impl_->engine.paging.managed.Find(linear.base.value(), length);
  if (!found || found->arena != nullptr) return std::nullopt;
  return found->address.value();
}

// For a region that becomes writable, and was not before.
std::optional<uint64_t> Adapter::AddressToWiden(Key key, bool for_write) {
  const EngineLock lock(impl_->engine);
  const auto found = impl_->engine.memory.table.FindLive(key, memory::EntryType::kRegion);
  if (!found || !for_write || (*found)->rights.HasAny(kNeedWritable)) return std::nullopt;
  const memory::ProtectionEntry& region = **found;
  if (region.table == nullptr || !region.table->is_linear()) return std::nullopt;
  if (region.guest != memory::kHost) return std::nullopt;  // managed
  return region.table->LinearAddress(0).value() + region.first_offset;
}

// On-demand registration follows the kernel: ib_umem_odp_get accepts any range, and its first
// snapshot skips what is not mapped.
ErrorOr<void> Adapter::CheckMappings(const memory::RegionSpec& spec, const memory::Backing* backing,
                                     Key changed) {
  if (spec.on_demand || spec.length == 0) return {};
  const bool for_write = spec.rights.HasAny(kNeedWritable);
  std::optional<uint64_t> address;
  if (backing == nullptr) {
    address = AddressToWiden(changed, for_write);
  } else if (const auto* const linear = std::get_if<memory::LinearBacking>(backing)) {
    address = UnmanagedAddress(*linear, spec.length);
  } else if (const auto* const shared = std::get_if<memory::SharedBacking>(backing)) {
    address = AddressToWiden(shared->with, for_write);
  }
  if (!address) return {};
  const auto lack = impl_->mappings.Check(*address, spec.length, for_write);
  if (lack) return Fail(MappingError(*lack, for_write));
  return {};
}

}  // namespace verbena::adapter
