#include "sim/tagged_receives.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace verbena::sim {
namespace {

// A separate random stream, so that draws here do not change others.
constexpr uint64_t kStream = 0x7A65;
// The bits of a tag that are compared.
constexpr uint64_t kMasks[] = {~uint64_t{0}, ~uint64_t{0}, 2, 0};

}  // namespace

TaggedReceives::TaggedReceives(const Swarm& swarm, uint32_t stream, adapter::Engine& engine,
                               adapter::Srq& queue, std::unique_ptr<GuardedMemory> memory)
    : random_(swarm.seed ^ kStream ^ (uint64_t{stream} << 32)),
      engine_(engine),
      srq_(queue),
      pool_(std::move(memory), SlotsOf(swarm), swarm.slot_bytes, /*is_shared=*/true) {}

void TaggedReceives::Change() {
  switch (random_.Below(16)) {
    case 0:
    case 1:
    case 2:
      return Add();
    case 3:
      return Remove();
    case 4:
      return Synchronize();
    default:
      return;
  }
}

TagHandle TaggedReceives::Execute(const TagOperation& operation) {
  const adapter::EngineLock lock(engine_);
  const auto changed = engine_.ChangeTags(srq_, operation);
  CHECK(changed.has_value());
  return *changed;
}

void TaggedReceives::Add() {
  bool is_done = false;
  pool_.Fill(random_, [&](const queue::ReceiveWorkRequest& request) {
    if (std::exchange(is_done, true)) return false;
    const uint64_t id = request.wqe.id.value() | kIds;
    const uint64_t mask = kMasks[random_.Below(std::size(kMasks))];
    const uint64_t tag = random_.Below(kTags) & mask;
    TagOperation operation{.kind = TagOperation::Kind::kAdd,
                           .id = WrId(id),
                           .signaled = random_.Chance(7, 8),
                           .receive_id = WrId(id),
                           .tag = tag,
                           .mask = mask,
                           .data = request.sges};
    if (random_.Chance(1, 3)) {
      operation.seen = seen();
      oracle_.Synchronized();
    }
    oracle_.Added(id, tag, mask);
    handles_[id] = Execute(operation);
    return true;
  });
}

void TaggedReceives::Remove() {
  if (handles_.empty()) return;
  const auto some =
      std::next(handles_.begin(), static_cast<std::ptrdiff_t>(random_.Below(handles_.size())));
  Execute({.kind = TagOperation::Kind::kRemove,
           .id = WrId(some->first),
           .signaled = true,
           .handle = some->second});
}

void TaggedReceives::Synchronize() {
  oracle_.Synchronized();
  Execute({.kind = TagOperation::Kind::kSynchronize,
           .id = WrId(kIds),
           .signaled = random_.Chance(7, 8),
           .seen = seen()});
}

void TaggedReceives::OnOperation(const Completion& completion, bool is_busy, Findings& findings) {
  const bool well = completion.status == CompletionStatus::kSuccess;
  std::optional<uint64_t> added;
  if (completion.opcode == CompletionOpcode::kTagAdd) added = completion.id.value();
  if (completion.opcode == CompletionOpcode::kTagRemove) {
    oracle_.Removed(completion.id.value(), well, findings);
    if (well) Finish(completion.id, false, findings);
  } else if (!well) {
    findings.Add("tags", "a receive could not be added, or a count not reported");
  }
  oracle_.OnStep(completion.tag_wants_step, added, is_busy, findings);
}

bool TaggedReceives::Holds(WrId id, std::span<const std::byte> bytes, Findings& findings) const {
  const auto offset = pool_.OffsetOf(WrId(id.value() & ~kIds), findings);
  return offset &&
         std::ranges::equal(std::span<const std::byte>(pool_.guarded()->At(*offset), bytes.size()),
                            bytes);
}

void TaggedReceives::Finish(WrId id, bool well, Findings& findings) {
  handles_.erase(id.value());
  const WrId own(id.value() & ~kIds);
  if (pool_.OffsetOf(own, findings)) pool_.Finish(own, well, findings);
}

void TaggedReceives::CheckEnd(Findings& findings) const {
  if (!srq_.tags()->IsConsistent()) findings.Add("leaks", "a list of tags is broken");
  oracle_.CheckEnd(srq_.tags()->size(), findings);
}

}  // namespace verbena::sim
