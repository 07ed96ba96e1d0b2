// Registration by Verbena's own adapter.

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "base/result.h"
#include "verbena/memory_region.h"
#include "verbena/protection_domain.h"
#include "verbena/registration_cache.h"

namespace verbena {
namespace {

// A region of this adapter stands for addresses, pinned or not: see docs/unpinned.md.
class DomainBackend final : public RegistrationBackend {
 public:
  explicit DomainBackend(const ProtectionDomain& domain) : domain_(domain) {}

  [[nodiscard]] bool follows_mappings() const override { return true; }
  [[nodiscard]] MemoryEvents* events() override { return domain_.memory_events(); }

  [[nodiscard]] ErrorOr<CachedKeys> Register(MemoryRange range, Access access) override {
    auto made = MemoryRegion::Register(domain_, BytesOf(range), access);
    if (!made) return Fail(std::move(made.error()));
    auto region = std::make_unique<MemoryRegion>(std::move(*made));
    const CachedKeys keys = KeysOf(*region);
    static_cast<void>(region.release());
    return keys;
  }
  void Deregister(const CachedKeys& keys) override { delete RegionOf(keys); }
  [[nodiscard]] ErrorOr<CachedKeys> Rekey(const CachedKeys& keys, Access access) override {
    MemoryRegion& region = *RegionOf(keys);
    if (auto changed = region.Reregister({.access = access}); !changed) {
      return Fail(std::move(changed.error()));
    }
    return KeysOf(region);
  }

 private:
  static std::span<std::byte> BytesOf(MemoryRange range) {
    return {reinterpret_cast<std::byte*>(range.address), range.length};
  }
  static MemoryRegion* RegionOf(const CachedKeys& keys) {
    return static_cast<MemoryRegion*>(keys.object);
  }
  static CachedKeys KeysOf(MemoryRegion& region) {
    return {.object = &region, .l_key = region.l_key(), .r_key = region.r_key()};
  }

  const ProtectionDomain& domain_;
};

}  // namespace

std::unique_ptr<RegistrationBackend> BackendOf(const ProtectionDomain& domain) {
  return std::make_unique<DomainBackend>(domain);
}

}  // namespace verbena
