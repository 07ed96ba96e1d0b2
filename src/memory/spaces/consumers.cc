#include "memory/spaces/consumers.h"

namespace verbena::memory {

MemoryResult<ConsumerId> Consumers::Open(const ConsumerSpec& spec) {
  Consumer consumer{.privileged = spec.privileged,
                    .is_flat_outside = spec.is_flat_outside,
                    .segments = {},
                    .pages = {}};
  if (spec.has_segments) consumer.segments.emplace();
  const auto id = consumers_.Insert(std::move(consumer));
  if (!id.has_value()) return Fail(MemoryError::kLimitReached);
  auto pages = MakePageTable(spec, *id);
  if (!pages.has_value()) {
    consumers_.Erase(*id);
    return Fail(pages.error());
  }
  consumers_.Find(*id)->pages = *pages;
  return *id;
}

MemoryResult<std::optional<PageTable>> Consumers::MakePageTable(const ConsumerSpec& spec,
                                                                ConsumerId id) {
  std::optional<PageTable> pages;
  if (const auto* own = std::get_if<ConsumerSpec::PrivateTable>(&spec.table)) {
    const auto base = own->identity ? std::optional(PhysicalAddress(0)) : std::nullopt;
    const auto table =
        store_.Create(TranslationTable::kPagesMax, PageTable::kPageShift, kMachineSpace, base);
    if (!table.has_value()) return Fail(table.error());
    pages.emplace(PageTable::Private{*table});
  } else if (const auto* shared = std::get_if<ConsumerSpec::SharedTable>(&spec.table)) {
    pages.emplace(PageTable::Shared{shared->entries});
  } else if (const auto* inverted = std::get_if<InvertedPageTable*>(&spec.table)) {
    if (*inverted == nullptr) return Fail(MemoryError::kNotMapped);
    pages.emplace(PageTable::Inverted{*inverted, id});
  }
  return pages;
}

MemoryResult<void> Consumers::Close(ConsumerId id) {
  Consumer* consumer = consumers_.Find(id);
  if (consumer == nullptr) return Fail(MemoryError::kNoSuchConsumer);
  if (consumer->users > 0) return Fail(MemoryError::kInUse);
  if (consumer->pages.has_value()) consumer->pages->Close(store_);
  consumers_.Erase(id);
  return {};
}

MemoryResult<void> Consumers::SegmentTableUpdate(ConsumerId id, SegmentChange change,
                                                 const Segment& segment) {
  Consumer* consumer = consumers_.Find(id);
  if (consumer == nullptr) return Fail(MemoryError::kNoSuchConsumer);
  if (!consumer->segments.has_value()) return Fail(MemoryError::kWrongType);
  return consumer->segments->Update(change, segment);
}

MemoryResult<PageTable*> Consumers::PagesOf(ConsumerId id) {
  Consumer* consumer = consumers_.Find(id);
  if (consumer == nullptr) return Fail(MemoryError::kNoSuchConsumer);
  if (!consumer->pages.has_value()) return Fail(MemoryError::kWrongType);
  return &*consumer->pages;
}

MemoryResult<void> Consumers::MapLocalPage(ConsumerId id, VirtualAddress page,
                                           PhysicalAddress where, bool writable) {
  const auto pages = PagesOf(id);
  if (!pages.has_value()) return Fail(pages.error());
  return (*pages)->Map(store_, page, where, writable);
}

MemoryResult<void> Consumers::UnmapLocalPage(ConsumerId id, VirtualAddress page) {
  const auto pages = PagesOf(id);
  if (!pages.has_value()) return Fail(pages.error());
  return (*pages)->Unmap(store_, page);
}

}  // namespace verbena::memory
