#include "sim/lane.h"

#include <numeric>

#include "base/check.h"
#include "transport/common/rendezvous.h"

namespace verbena::sim {
namespace {

constexpr Access kLocal = Access::kLocalRead | Access::kLocalWrite;
constexpr uint32_t kCqCapacity = 256;
constexpr uint32_t kSendDepth = 16;
constexpr uint32_t kXrcReceivers = 3;
constexpr uint32_t kPagesMax = 3;  // of a slot
// Different from the random streams of other shared receive queues.
constexpr uint32_t kStream = 0x100;

uint64_t SlotsSize(const Swarm& swarm) { return uint64_t{swarm.slots} * swarm.slot_bytes; }

adapter::QueuePair& MakeSender(const Swarm& swarm, Endnode& node, LaneKind kind, adapter::Cq& cq,
                               adapter::Cq& notice_cq) {
  return node.MakeQp(
      {.type = kind == LaneKind::kXrc ? QpType::kXrcSend : QpType::kRc,
       .send_cq = &cq,
       .receive_cq = &notice_cq,
       .send = {.capacity = kSendDepth, .sges_max = 2, .inline_max = 0, .pages_max = kPagesMax},
       .receive = {.capacity = swarm.slots, .sges_max = ReceivePool::kSges},
       .registration = RegistrationMode::kReactive});
}

adapter::QueuePair& MakeReceiver(LaneHost& host) {
  if (host.kind != LaneKind::kXrc) {
    LaneReceiver& only = *host.receivers.front();
    using transport::TagRendezvous;
    return host.node->MakeQp({.type = QpType::kRc,
                              .send_cq = &only.cq,
                              .receive_cq = &only.cq,
                              .srq = &only.shared.queue(),
                              .send = {.capacity = TagRendezvous::kElements,
                                       .sges_max = ReceivePool::kSges,
                                       .inline_max = TagRendezvous::kInlineBytes}});
  }
  adapter::QueuePair& qp = host.node->MakeQp({.type = QpType::kXrcReceive,
                                              .send_cq = &host.domain.none,
                                              .receive_cq = &host.domain.none,
                                              .xrc_domain = &host.domain});
  host.domain.connections.push_back(&qp);
  return qp;
}

}  // namespace

LaneReceiver::LaneReceiver(const Swarm& swarm, Endnode& node, LaneKind kind, uint32_t stream,
                           const adapter::XrcMembership& xrc, Random& random)
    : cq(kCqCapacity, nullptr, node.event_queue),
      shared(swarm, stream, node.pd, node.event_queue,
             node.MakeGuardedMemory(
                 {.bytes = uint64_t{SharedReceives::SlotsOf(swarm)} * swarm.slot_bytes,
                  .rights = kLocal},
                 random),
             xrc,
             {.tags_max = kind == LaneKind::kTagged ? TaggedReceives::SlotsOf(swarm) : 0,
              .cq = kind == LaneKind::kTagged ? &cq : nullptr}) {
  if (kind != LaneKind::kTagged) return;
  tags = std::make_unique<TaggedReceives>(
      swarm, stream, node.engine, shared.queue(),
      node.MakeGuardedMemory({.bytes = SlotsSize(swarm), .rights = kLocal}, random));
}

LaneHost::LaneHost(const Swarm& swarm, Endnode& endnode, LaneKind of, Random& random,
                   Hypervisor* hypervisor)
    : node(&endnode), kind(of) {
  if (kind == LaneKind::kManaged) {
    managed = std::make_unique<ManagedMemory>(swarm, endnode, random, hypervisor);
  }
  const uint32_t count = kind == LaneKind::kXrc ? kXrcReceivers : 1;
  for (uint32_t i = 0; i < count; ++i) {
    adapter::XrcMembership xrc;
    if (kind == LaneKind::kXrc) xrc = {.domain = &domain, .number = SrqNumber(1 + 7 * i)};
    const uint32_t stream = kStream * (1 + i) + node->number;
    receivers.push_back(std::make_unique<LaneReceiver>(swarm, endnode, kind, stream, xrc, random));
    LaneReceiver& added = *receivers.back();
    if (kind != LaneKind::kXrc) continue;
    domain.receivers.Add(
        {.number = xrc.number, .queue = &added.shared.queue(), .cq = &added.cq, .pd = node->pd});
  }
}

void LaneHost::Release(Findings& findings) {
  CHECK(domain.connections.empty());
  if (managed && !node->is_dead) managed->CheckEnd(findings);
  managed.reset();
  for (const auto& receiver : receivers) {
    if (kind == LaneKind::kXrc) {
      const adapter::EngineLock lock(node->engine);
      node->engine.RemoveReceiver(domain, receiver->shared.queue());
    }
    receiver->shared.pool().guarded()->shadow().Check(findings);
    receiver->shared.CheckEnd(findings);
    if (receiver->tags) {
      receiver->tags->guarded()->shadow().Check(findings);
      receiver->tags->CheckEnd(findings);
      node->Release(*receiver->tags->guarded());
    }
    node->RemoveCq(receiver->cq);
    node->Release(*receiver->shared.pool().guarded());
  }
}

Lane::Lane(const Swarm& swarm, Endnode& sending, LaneHost& to, Random& random)
    : from(&sending),
      host(&to),
      local(sending.MakeGuardedMemory(
          {.bytes = SlotsSize(swarm), .rights = kLocal | Access::kRemoteRead}, random)),
      exposed(to.node->MakeGuardedMemory(
          {.bytes = SlotsSize(swarm), .rights = kLocal | Access::kRemote}, random)),
      send_cq(kCqCapacity, nullptr, sending.event_queue),
      notice_cq(kCqCapacity, nullptr, sending.event_queue),
      sender(&MakeSender(swarm, sending, to.kind, send_cq, notice_cq)),
      receiver(&MakeReceiver(to)),
      free_local(swarm.slots),
      free_exposed(swarm.slots) {
  std::iota(free_local.begin(), free_local.end(), 0);
  std::iota(free_exposed.begin(), free_exposed.end(), 0);
  if (to.kind != LaneKind::kTagged) return;
  notices =
      ReceivePool(sending.MakeGuardedMemory({.bytes = SlotsSize(swarm), .rights = kLocal}, random),
                  swarm.slots, swarm.slot_bytes, /*is_shared=*/false);
}

void Lane::Connect(Psn first_psn) {
  from->Connect(*sender, first_psn, Endnode::Peer{receiver->number(), host->node->number, {}});
  host->node->Connect(*receiver, {}, Endnode::Peer{sender->number(), from->number, first_psn});
}

bool Lane::has_room() const {
  // A registration, and a message that uses it.
  constexpr uint64_t kTogether = 2;
  const uint64_t posted = sender->send_queue().end().value() - sender->send_queue().begin().value();
  return posted + kTogether <= sender->send_queue().limits().capacity && !free_local.empty();
}

bool Lane::is_idle() const {
  return sender->send_queue().begin() == sender->send_queue().end() && send_cq.size() == 0;
}

void Lane::Release() {
  std::erase(host->domain.connections, receiver);
  from->RemoveQp(*sender);
  host->node->RemoveQp(*receiver);
  from->RemoveCq(send_cq);
  from->RemoveCq(notice_cq);
  if (notices.guarded() != nullptr) from->Release(*notices.guarded());
  for (const Key key : keys) {
    CHECK(from->core.regions.Deregister(key).has_value());
    from->pager.Remove(key);
  }
  from->Release(*local);
  host->node->Release(*exposed);
}

}  // namespace verbena::sim
