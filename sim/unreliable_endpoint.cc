#include "sim/unreliable_endpoint.h"

#include <numeric>

namespace verbena::sim {
namespace {

constexpr Access kLocal = Access::kLocalRead | Access::kLocalWrite;
constexpr uint32_t kQueueDepth = 16;

std::unique_ptr<GuardedMemory> MakeGuardedMemory(const Swarm& swarm, Endnode& node, Access rights,
                                                 Random& random) {
  return node.MakeGuardedMemory({.bytes = uint64_t{swarm.slots} * swarm.slot_bytes,
                                 .rights = rights,
                                 .can_vanish = swarm.unmapping > 0},
                                random);
}

}  // namespace

UnreliableEndpoint::UnreliableEndpoint(const Swarm& swarm, Endnode& endnode, QpType type,
                                       Random& random)
    : node(&endnode),
      local(MakeGuardedMemory(swarm, endnode, kLocal, random)),
      exposed(MakeGuardedMemory(swarm, endnode, kLocal | Access::kRemote, random)),
      send_cq(swarm.cq_capacity, nullptr, endnode.event_queue),
      receive_cq(swarm.cq_capacity, nullptr, endnode.event_queue),
      qp(&endnode.MakeQp(
          {.type = type,
           .send_cq = &send_cq,
           .receive_cq = &receive_cq,
           .srq = type == QpType::kUd ? endnode.srq() : nullptr,
           .send = {.capacity = kQueueDepth, .sges_max = 2, .inline_max = 64, .pages_max = 0},
           .receive = {.capacity = swarm.slots, .sges_max = ReceivePool::kSges}})),
      shared(type == QpType::kUd ? endnode.shared.get() : nullptr),
      free_local(swarm.slots),
      free_exposed(swarm.slots) {
  number = qp->number();
  if (shared == nullptr) {
    own_pool = ReceivePool(MakeGuardedMemory(swarm, endnode, kLocal, random), swarm.slots,
                           swarm.slot_bytes, false);
  }
  std::iota(free_local.begin(), free_local.end(), 0);
  std::iota(free_exposed.begin(), free_exposed.end(), 0);
}

void UnreliableEndpoint::Connect(Psn first_psn, const std::optional<Endnode::Peer>& other) {
  peer = other;
  node->Connect(*qp, first_psn, peer);
}

uint64_t UnreliableEndpoint::dropped() const {
  const QpCounters counters = qp->counters();
  return counters.dropped_out_of_sequence + counters.dropped_no_receive +
         counters.dropped_pages_absent + counters.dropped_refused;
}

uint64_t UnreliableEndpoint::group_messages_lost() const {
  uint64_t lost = 0;
  for (const auto& [from, sent] : group_messages) lost += sent.lost();
  return lost;
}

std::vector<GuardedMemory*> UnreliableEndpoint::memories() const {
  std::vector<GuardedMemory*> all = {local.get(), exposed.get()};
  if (own_pool.guarded() != nullptr) all.push_back(own_pool.guarded());
  return all;
}

void UnreliableEndpoint::Release() {
  for (const uint32_t group : groups) node->Detach(*qp, group);
  node->RemoveQp(*qp);
  node->RemoveCq(send_cq);
  node->RemoveCq(receive_cq);
  for (GuardedMemory* const guarded : memories()) node->Release(*guarded);
}

}  // namespace verbena::sim
