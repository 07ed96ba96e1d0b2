#include "sim/station.h"

#include <numeric>

namespace verbena::sim {
namespace {

using memory::Rights;

constexpr Rights kLocal = Rights::kLocalRead | Rights::kLocalWrite;
constexpr uint32_t kQueueDepth = 16;

std::unique_ptr<Plot> MakePlot(const Swarm& swarm, Endnode& node, Rights rights, Random& random) {
  return node.MakePlot({.bytes = uint64_t{swarm.slots} * swarm.slot_bytes,
                        .rights = rights,
                        .can_vanish = swarm.unmapping > 0},
                       random);
}

}  // namespace

Station::Station(const Swarm& swarm, Endnode& endnode, wire::QpNumber own, wire::Psn first_psn,
                 const std::optional<Peer>& other, const transport::AddressHandles& handles,
                 Random& random)
    : node(&endnode),
      number(own),
      peer(other),
      local(MakePlot(swarm, endnode, kLocal, random)),
      exposed(MakePlot(swarm, endnode, kLocal | Rights::kRemote, random)),
      send_queue({.capacity = kQueueDepth, .sges_max = 2, .inline_max = 64, .pages_max = 0}),
      receive_queue({.capacity = swarm.slots, .sges_max = ReceivePool::kSges}),
      send_cq(256),
      receive_cq(256),
      pool(MakePlot(swarm, endnode, kLocal, random), swarm.slots, swarm.slot_bytes, false),
      free_local(swarm.slots),
      free_exposed(swarm.slots) {
  std::iota(free_local.begin(), free_local.end(), 0);
  std::iota(free_exposed.begin(), free_exposed.end(), 0);
  const memory::Accessor who{endnode.pd, memory::QpNumber(own.value())};
  const transport::ReceiveSource source(receive_queue);
  if (peer) {
    const transport::UcConfig config{.local_qp = own,
                                     .remote_qp = peer->number,
                                     .path = transport::PathId(peer->node),
                                     .path_mtu = swarm.path_mtu,
                                     .who = who,
                                     .remote_rights = Rights::kRemote};
    uc.emplace(config, send_queue, source, send_cq, receive_cq);
    uc->BecomeReadyToReceive(peer->first_psn);
    uc->BecomeReadyToSend(first_psn);
  } else {
    const transport::UdConfig config{.local_qp = own,
                                     .q_key = kQKey,
                                     .path_mtu = swarm.path_mtu,
                                     .who = who,
                                     .handles = &handles};
    ud.emplace(config, send_queue, source, send_cq, receive_cq);
    ud->BecomeReadyToReceive();
    ud->BecomeReadyToSend(first_psn);
  }
}

uint64_t Station::dropped() const {
  if (ud) {
    const auto& counters = ud->counters();
    return counters.bad_q_key + counters.bad_length + counters.no_receive + counters.pages_absent;
  }
  const auto& counters = uc->responder_counters();
  return counters.out_of_sequence + counters.no_receive + counters.pages_absent + counters.refused;
}

void Station::Release() {
  uc.reset();
  ud.reset();
  node->Release(*local);
  node->Release(*exposed);
  node->Release(*pool.plot());
}

}  // namespace verbena::sim
