#include "sim/iwarp/side.h"

#include <array>

#include "base/check.h"

namespace verbena::sim {
namespace {

constexpr uint64_t kReceiveId = uint64_t{1} << 40;

}  // namespace

IwarpSide::IwarpSide(const IwarpPlan& /*plan*/, uint32_t its_number, Random its_random)
    : number(its_number), qp_number(100 + its_number), random(its_random) {
  const auto consumer = core.consumers.Open({});
  CHECK(consumer.has_value());
  pd = *core.domains.Allocate(*consumer);
  const Access own = Access::kLocalRead | Access::kLocalWrite;
  const GuardedMemory::Options private_memory{.bytes = kSlots * kSlot, .rights = own};
  local = std::make_unique<GuardedMemory>(core, pd, private_memory, random);
  receives = std::make_unique<GuardedMemory>(core, pd, private_memory, random);
  exposed = std::make_unique<GuardedMemory>(
      core, pd, GuardedMemory::Options{.bytes = kCounter + kPage, .rights = Access::kAll}, random);
  const std::array<std::byte, 8> zero{};
  exposed->Store(kCounter, zero);
  window = *core.windows.Allocate(pd, WindowType::k1);
}

IwarpSide::~IwarpSide() = default;

void IwarpSide::Connect(const transport::IwarpConfig& config, uint32_t depth, size_t send_buffer) {
  send_queue = std::make_unique<queue::SendQueue>(
      queue::WorkQueueLimits{.capacity = depth, .sges_max = 4, .inline_max = 64});
  receive_queue = std::make_unique<queue::ReceiveQueue>(
      queue::WorkQueueLimits{.capacity = kSlots, .sges_max = 2});
  send_cq = std::make_unique<queue::CompletionQueue>(256);
  receive_cq = std::make_unique<queue::CompletionQueue>(256);
  buffer = std::make_unique<transport::SendBuffer>(send_buffer);
  qp = std::make_unique<transport::IwarpQp>(
      config, *send_queue, transport::ReceiveSource(*receive_queue), *send_cq, *receive_cq);
  completions = {};
  expected.clear();
  received = receives_posted = 0;
  is_draining = false;
  qp->Connect(*buffer);
}

void IwarpSide::PostReceives() {
  while (receives_posted - received < kSlots) {
    const uint64_t slot = receives_posted % kSlots;
    const uint64_t first = 1 + random.Below(100);
    const std::array sges = {receives->Bytes(slot * kSlot, first),
                             receives->Bytes(slot * kSlot + first, kSlot - first)};
    const uint64_t id = kReceiveId + receives_posted++;
    receives->Allow(id, slot * kSlot, std::vector<std::byte>(kSlot), true);
    CHECK(receive_queue->Post({.wqe = {.id = WrId(id)}, .sges = sges}).has_value());
  }
}

std::optional<uint32_t> IwarpSide::TakeSlot(std::vector<bool>& used, Random& random) {
  const auto first = static_cast<uint32_t>(random.Below(kSlots));
  for (uint32_t i = 0; i < kSlots; ++i) {
    const uint32_t slot = (first + i) % kSlots;
    if (used[slot]) continue;
    used[slot] = true;
    return slot;
  }
  return std::nullopt;
}

}  // namespace verbena::sim
