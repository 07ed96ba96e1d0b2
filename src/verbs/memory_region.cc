#include "verbena/memory_region.h"

#include <vector>

#include "verbs/convert.h"
#include "verbs/memory_objects.h"
#include "verbs/thrown.h"

namespace verbena {
namespace {

uint64_t AddressOf(std::span<std::byte> bytes) { return reinterpret_cast<uintptr_t>(bytes.data()); }

memory::LinearBacking BackingOf(std::span<std::byte> bytes) {
  return {.base = memory::PhysicalAddress(AddressOf(bytes))};
}

ErrorOr<PageShift> PageShiftOf(uint8_t value) {
  if (value < PageShift::kMin || value > PageShift::kMax) {
    return Fail(verbs::Invalid("page_shift must be 12 to 28"));
  }
  return PageShift(value);
}

ErrorOr<void> CheckBytes(std::span<std::byte> bytes) {
  if (bytes.data() == nullptr && !bytes.empty()) {
    return Fail(verbs::Invalid("bytes: null pointer with a length that is not 0"));
  }
  return {};
}

memory::RegionSpec SpecOf(const ProtectionDomain& domain, uint64_t start, uint64_t length,
                          Access access, const RegionOptions& options) {
  const uint64_t shown = options.start.value_or(options.zero_based ? 0 : start);
  return {.pd = domain.object()->id,
          .start = KeyAddress(shown),
          .length = length,
          .rights = access,
          .zero_based = options.zero_based,
          .one_touch = options.one_touch,
          .distinct_keys = options.distinct_keys,
          .on_demand = options.on_demand};
}

using Made = ErrorOr<std::shared_ptr<verbs::RegionObject>>;

Made Make(const ProtectionDomain& domain, const memory::RegionSpec& spec,
          const memory::Backing& backing, const RegionOptions& options = {}) {
  auto region = std::make_shared<verbs::RegionObject>(domain.object(), spec);
  const adapter::QuiesceTerms terms{.has_word = options.current_io,
                                    .refuses_when_out = options.refuses_when_out};
  const auto keys = domain.object()->device.RegisterRegion(spec, backing, terms);
  if (!keys) return Fail(keys.error());
  region->Name(*keys);
  if (terms.has_word) region->current_io = region->control().FindWord(keys->local);
  return region;
}

}  // namespace

ErrorOr<MemoryRegion> MemoryRegion::Register(const ProtectionDomain& domain,
                                             std::span<std::byte> bytes, Access access,
                                             const RegionOptions& options) try {
  if (!domain) return Fail(verbs::Empty("protection domain"));
  if (const auto ok = CheckBytes(bytes); !ok) return Fail(ok.error());
  auto made = Make(domain, SpecOf(domain, AddressOf(bytes), bytes.size(), access, options),
                   BackingOf(bytes), options);
  if (!made) return Fail(made.error());
  return MemoryRegion(std::move(*made));
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<MemoryRegion> MemoryRegion::RegisterEverything(const ProtectionDomain& domain,
                                                       Access access) try {
  if (!domain) return Fail(verbs::Empty("protection domain"));
  auto made =
      Make(domain, SpecOf(domain, 0, UINT64_MAX, access, {}), memory::AddressSpaceBacking{});
  if (!made) return Fail(made.error());
  return MemoryRegion(std::move(*made));
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<MemoryRegion> MemoryRegion::RegisterPages(const ProtectionDomain& domain,
                                                  const PageList& pages, uint64_t length,
                                                  Access access, const RegionOptions& options) try {
  if (!domain) return Fail(verbs::Empty("protection domain"));
  const auto shift = PageShiftOf(pages.page_shift);
  if (!shift) return Fail(shift.error());
  std::vector<memory::PhysicalAddress> addresses;
  for (const uint64_t page : pages.pages) addresses.emplace_back(page);
  const uint64_t start = addresses.empty() ? 0 : addresses[0].value() + pages.first_offset;
  auto made = Make(domain, SpecOf(domain, start, length, access, options),
                   memory::PageListBacking{.pages = addresses,
                                           .first_offset = pages.first_offset,
                                           .page_shift = *shift,
                                           .writable = access.Has(Access::kLocalWrite)},
                   options);
  if (!made) return Fail(made.error());
  return MemoryRegion(std::move(*made));
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<MemoryRegion> MemoryRegion::Share(const ProtectionDomain& domain, const MemoryRegion& with,
                                          Access access, const RegionOptions& options) try {
  if (!domain) return Fail(verbs::Empty("protection domain"));
  if (!with) return Fail(verbs::Empty("memory region"));
  if (with.object()->pd->context != domain.object()->context) {
    return Fail(verbs::Invalid("the region belongs to another context"));
  }
  auto made = Make(domain, SpecOf(domain, with.start(), with.length(), access, options),
                   memory::SharedBacking{with.object()->keys.local}, options);
  if (!made) return Fail(made.error());
  return MemoryRegion(std::move(*made));
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<MemoryRegion> MemoryRegion::Reserve(const ProtectionDomain& domain, uint32_t pages_max,
                                            uint8_t page_shift) try {
  if (!domain) return Fail(verbs::Empty("protection domain"));
  const auto shift = PageShiftOf(page_shift);
  if (!shift) return Fail(shift.error());
  verbs::PdObject& pd = *domain.object();
  auto region = std::make_shared<verbs::RegionObject>(domain.object(),
                                                      SpecOf(domain, 0, 0, Access::kNone, {}));
  const auto keys = pd.device.ReserveRegion(pd.id, pages_max, *shift);
  if (!keys) return Fail(keys.error());
  region->Name(*keys);
  return MemoryRegion(std::move(region));
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<MemoryRegion> MemoryRegion::RegisterNull(const ProtectionDomain& domain) try {
  if (!domain) return Fail(verbs::Empty("protection domain"));
  auto made =
      Make(domain, SpecOf(domain, 0, UINT64_MAX, Access::kLocal, {}), memory::NullBacking{});
  if (!made) return Fail(made.error());
  return MemoryRegion(std::move(*made));
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> MemoryRegion::Advise(std::span<const Range> ranges, Advice advice, bool wait) const
    try {
  if (!object()) return Fail(verbs::Empty("memory region"));
  if (advice > Advice::kPrefetchNoFault) return Fail(verbs::Invalid("unknown advice"));
  std::vector<Range> wanted;
  for (const Range& range : ranges) wanted.push_back({range.offset, range.length});
  return object()->pd->device.Advise(object()->keys.local, wanted, advice, wait);
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> MemoryRegion::Advise(uint64_t offset, uint64_t length, Advice advice, bool wait) const
    try {
  const Range range{offset, length};
  return Advise({&range, 1}, advice, wait);
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> MemoryRegion::Reregister(const RegionChange& change) try {
  if (!object()) return Fail(verbs::Empty("memory region"));
  verbs::RegionObject& region = *object();
  std::shared_ptr<verbs::PdObject> pd = region.pd;
  memory::RegionSpec spec = region.spec;
  std::optional<memory::Backing> backing;
  if (change.domain != nullptr) {
    if (!*change.domain) return Fail(verbs::Empty("protection domain"));
    pd = change.domain->object();
    if (pd->context != region.pd->context) {
      return Fail(verbs::Invalid("the protection domain belongs to another context"));
    }
    spec.pd = pd->id;
  }
  if (change.bytes) {
    if (const auto ok = CheckBytes(*change.bytes); !ok) return ok;
    backing = BackingOf(*change.bytes);
    if (!spec.zero_based) spec.start = KeyAddress(AddressOf(*change.bytes));
    spec.length = change.bytes->size();
  }
  if (change.access) spec.rights = *change.access;
  spec.keep_keys = change.keep_keys;
  const auto keys = region.pd->device.ReregisterRegion(region.keys.local, spec, backing);
  if (!keys) return Fail(keys.error());
  region.pd = std::move(pd);
  region.spec = spec;
  region.keys = *keys;
  return {};
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> MemoryRegion::Destroy() try {
  auto ended = verbs::EndNow(object(), "memory region");
  if (ended) Reset();
  return ended;
} catch (...) {
  return Fail(verbs::Thrown());
}

Key MemoryRegion::l_key() const { return object() ? object()->keys.local : Key{}; }
Key MemoryRegion::r_key() const { return object() ? object()->keys.remote : Key{}; }
uint64_t MemoryRegion::start() const { return object() ? object()->spec.start.value() : 0; }
uint64_t MemoryRegion::length() const { return object() ? object()->spec.length : 0; }

}  // namespace verbena
