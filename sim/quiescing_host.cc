#include "sim/quiescing_host.h"

#include <optional>
#include <utility>

#include "base/check.h"
#include "managed/arena.h"

namespace verbena::sim {

using adapter::GuestEvent;

QuiescingHost::QuiescingHost(Endnode& node, Random& random, uint32_t rate)
    : node_(node),
      random_(random.Fork()),
      rate_(rate),
      takeover_(node.engine, node.engine.paging.managed, {}),
      control_({node.engine, registering_, takeover_}, std::move(*EventFile::Open(false))) {}

void QuiescingHost::Step(const odp::ManagedArena& arena, Key region, bool is_calm,
                         Findings& findings) {
  TakeEvents();
  if (!is_out_) {
    if (!is_calm && random_.Chance(rate_, 1000)) Take(arena, region);
    return;
  }
  CheckOut(arena, findings);
  if (!is_calm && !random_.Chance(1, 20)) return;
  CHECK(control_.SwapInRegion(region, random_.Chance(1, 2)).has_value());
  is_out_ = is_empty_ = false;
}

void QuiescingHost::TakeEvents() {
  for (const GuestEvent& event : control_.TakeEvents(node_.clock.now)) {
    if (event.kind == GuestEvent::Kind::kAwaited) ++counters_.awaited;
    if (event.kind != GuestEvent::Kind::kSwappedOut || !is_out_) continue;
    is_empty_ = event.bytes == page_count_ * kPage;
    counters_.emptied += is_empty_ ? 1 : 0;
  }
}

void QuiescingHost::Take(const odp::ManagedArena& arena, Key region) {
  const uint64_t pages = arena.size / kPage;
  const bool is_whole = random_.Chance(1, 2);
  first_page_ = is_whole ? 0 : random_.Below(pages);
  page_count_ = is_whole ? pages : 1 + random_.Below(pages - first_page_);
  std::optional<Range> part;
  if (!is_whole) part = Range{first_page_ * kPage, page_count_ * kPage};
  CHECK(control_.QuiesceRegion(region, part, Milliseconds(1)).has_value());
  CHECK(control_.SwapOutRegion(region, true).has_value());
  is_out_ = true;
  ++(is_whole ? counters_.whole : counters_.parts);
}

void QuiescingHost::CheckOut(const odp::ManagedArena& arena, Findings& findings) const {
  for (uint64_t i = 0; is_empty_ && i < page_count_; ++i) {
    if (arena.arena->residency((first_page_ + i) * kPage) == managed::Residency::kInMemory) {
      findings.Add("quiesce", "a page is in memory that the host has taken");
    }
  }
}

}  // namespace verbena::sim
