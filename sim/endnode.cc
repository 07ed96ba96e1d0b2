#include "sim/endnode.h"

#include <numeric>

#include "base/check.h"

namespace verbena::sim {
namespace {

using memory::Rights;

constexpr uint32_t kReceiveSges = 2;

std::vector<uint32_t> AllSlots(uint32_t count) {
  std::vector<uint32_t> slots(count);
  std::iota(slots.begin(), slots.end(), 0);
  return slots;
}

uint64_t RoundUp(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

transport::RcConfig ConfigOf(const Swarm& swarm, memory::PdId pd, wire::QpNumber number,
                             wire::QpNumber peer) {
  transport::RcConfig config;
  config.local_qp = number;
  config.remote_qp = peer;
  config.path_mtu = swarm.path_mtu;
  config.who = {pd, memory::QpNumber(number.value())};
  config.ack_timeout = swarm.ack_timeout;
  config.retry_count = static_cast<uint8_t>(swarm.retry_count);
  config.rnr_retry = static_cast<uint8_t>(swarm.rnr_retry);
  config.max_rd_atomic = config.max_dest_rd_atomic = static_cast<uint8_t>(swarm.depth);
  config.min_rnr_timer = wire::RnrTimerAtLeast(swarm.rnr_timer);
  config.remote_rights = Rights::kRemote;
  config.page_service_estimate = swarm.page_service_estimate;
  return config;
}

}  // namespace

Plot::Plot(memory::MemoryCore& core, memory::PdId pd, uint64_t bytes, Rights rights, Random& random)
    : size_(RoundUp(bytes)),
      memory_(static_cast<std::byte*>(std::aligned_alloc(kPage, size_ + 2 * kPage)), &std::free),
      shadow_([&] {
        const std::span all(memory_.get(), size_ + 2 * kPage);
        const uint64_t noise = random.Next64();
        for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>(noise >> i % 57);
        return all;
      }()) {
  const memory::RegionSpec spec{
      .pd = pd, .start = memory::KeyAddress(kBase), .length = size_, .rights = rights};
  const memory::LinearBacking backing{
      .base = memory::PhysicalAddress(reinterpret_cast<uintptr_t>(At(0)))};
  const auto keys = core.regions.Register(spec, backing);
  CHECK(keys.has_value());
  keys_ = *keys;
  CHECK(core.regions.MapPages(keys_.local, 0, size_ / kPage, {}, true).has_value());
}

void Plot::Evict(memory::MemoryCore& core, uint64_t page) {
  const memory::MachineAddress first = memory::MachineAddressOf(At(page * kPage));
  core.InvalidateMachine(first, memory::MachineAddress(first.value() + kPage - 1));
}

void Plot::Release(memory::MemoryCore& core) {
  CHECK(core.regions.Deregister(keys_.local).has_value());
}

Endnode::Endnode(const Swarm& swarm, uint32_t node_number, Random& random)
    : number(node_number), core({.key_slots_max = 4096, .seed = random.Next64()}), outbox(64) {
  consumer = *core.consumers.Open({});
  pd = *core.domains.Allocate(consumer);
  counters = std::make_unique<Plot>(
      core, pd, kPage, Rights::kLocalRead | Rights::kLocalWrite | Rights::kRemoteAtomic, random);
  counters->Store(0, std::vector<std::byte>(kCounters * sizeof(uint64_t)));
  // Their values are for the oracle of atomics.
  counters->Allow(1, 0, std::vector<std::byte>(kCounters * sizeof(uint64_t)), true);
  atomics.resize(kCounters);
  if (!swarm.shared_receives) return;
  srq = std::make_unique<queue::SharedReceiveQueue>(swarm.slots * 2, kReceiveSges);
  pool.plot = std::make_unique<Plot>(core, pd, uint64_t{swarm.slots} * 2 * swarm.slot_bytes,
                                     Rights::kLocalRead | Rights::kLocalWrite, random);
  pool.free = AllSlots(swarm.slots * 2);
}

void Endnode::Close(Findings& findings) {
  for (uint32_t i = 0; i < kCounters; ++i) {
    uint64_t value = 0;
    std::memcpy(&value, counters->At(i * sizeof value), sizeof value);
    atomics[i].Check(value, findings);
  }
  counters->shadow().Check(findings);
  counters->Release(core);
  if (pool.plot) {
    pool.plot->shadow().Check(findings);
    pool.plot->Release(core);
  }
  if (srq && !srq->IsConsistent()) findings.Add("leaks", "the shared receive queue is broken");
  if (!core.domains.Deallocate(pd).has_value() || !core.consumers.Close(consumer).has_value()) {
    findings.Add("leaks", "something still belongs to a protection domain");
  }
}

Side::Side(const Swarm& swarm, Endnode& endnode, wire::QpNumber own, wire::QpNumber peer,
           Random& random)
    : node(&endnode),
      number(own),
      local(std::make_unique<Plot>(endnode.core, endnode.pd,
                                   uint64_t{swarm.slots} * swarm.slot_bytes,
                                   Rights::kLocalRead | Rights::kLocalWrite, random)),
      // One slot more than is handed out: its last bytes are a word for atomics.
      exposed(std::make_unique<Plot>(
          endnode.core, endnode.pd, uint64_t{swarm.slots + 1} * swarm.slot_bytes,
          Rights::kLocalRead | Rights::kLocalWrite | Rights::kRemote | Rights::kWindowBind,
          random)),
      send_queue({.capacity = 32, .sges_max = 3, .inline_max = 64, .pages_max = 0}),
      receive_queue({.capacity = swarm.slots, .sges_max = kReceiveSges}),
      send_cq(256),
      receive_cq(256),
      free_local(AllSlots(swarm.slots)),
      free_exposed(AllSlots(swarm.slots)),
      faults(swarm) {
  if (!node->srq) {
    own_pool.plot =
        std::make_unique<Plot>(node->core, node->pd, uint64_t{swarm.slots} * swarm.slot_bytes,
                               Rights::kLocalRead | Rights::kLocalWrite, random);
    own_pool.free = AllSlots(swarm.slots);
  }
  qp = std::make_unique<transport::RcQp>(ConfigOf(swarm, node->pd, own, peer), send_queue, Source(),
                                         send_cq, receive_cq);
}

void Side::Release() {
  for (const auto& window : windows) {
    // A bind that was flushed may have been executed all the same.
    if (node->core.windows.Deallocate(window->key).has_value()) continue;
    CHECK(node->core.windows.Deallocate(window->next_key).has_value());
  }
  windows.clear();
  qp.reset();
  local->Release(node->core);
  exposed->Release(node->core);
  if (own_pool.plot) own_pool.plot->Release(node->core);
}

}  // namespace verbena::sim
