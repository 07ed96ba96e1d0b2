// The actions of the consumers; see run.h.

#include <utility>
#include <variant>

#include "sim/cm/run.h"
#include "wire/mad/cm_timeout.h"

namespace verbena::sim {

using transport::CmManager;
using transport::CmRaisedEvent;
using transport::CmStep;
using verbena::CmEventType;

void CmRun::Begin(CmConversation& conversation) {
  CmSide &active = conversation.active, &passive = conversation.passive;
  active.node = static_cast<uint32_t>(random_.Below(plan_.nodes));
  passive.node =
      static_cast<uint32_t>((active.node + 1 + random_.Below(plan_.nodes - 1)) % plan_.nodes);
  active.life = nodes_[active.node].life;
  passive.life = nodes_[passive.node].life;
  conversation.is_sidr = Chance(plan_.sidr);
  if (conversation.is_sidr) return BeginSidr(conversation);
  active.qp = FreeQp(nodes_[active.node]);
  const wire::CmTimeout timeout(plan_.response_timeout);
  const wire::CmReq req{.service_id = wire::ServiceId(passive.node),
                        .local_qp = active.qp,
                        .remote_response_timeout = timeout,
                        .starting_psn = Psn(random_.Next32()),
                        .local_response_timeout = timeout,
                        .path_mtu = wire::CmMtu(3),
                        .max_cm_retries = plan_.retries,
                        .private_data = DataOf<92>(conversation.number, wire::CmAttribute::kReq)};
  const auto id = Do(active.node, [&](CmManager& manager, CmStep& step) {
    return manager.Connect(req, CmNetwork::AddressOf(passive.node), step);
  });
  if (!id) return;  // too many connections
  oracle_.Know(conversation, active, *id);
  if (Chance(plan_.destroys)) {
    Later(active, plan_.duration, [&] { Destroy(active); });
  }
}

void CmRun::BeginSidr(CmConversation& conversation) {
  const CmSide &active = conversation.active, &passive = conversation.passive;
  const Duration answer =
      wire::DurationOf(wire::CmTimeout(plan_.response_timeout)) + 2 * plan_.delay_max;
  const wire::CmSidrReq req{
      .service_id = wire::ServiceId(passive.node),
      .private_data = DataOf<216>(conversation.number, wire::CmAttribute::kSidrReq)};
  const auto id = Do(active.node, [&](CmManager& manager, CmStep& step) {
    return manager.sidr().Ask(req, CmNetwork::AddressOf(passive.node),
                              {.answer = answer, .count = plan_.retries}, step);
  });
  if (id) questions_[{active.node, active.life, *id}] = conversation.number;
}

void CmRun::Later(CmSide& side, Duration at_most, std::function<void()> act) {
  const auto delay = random_.Below(static_cast<uint64_t>(at_most.nanoseconds()) + 1);
  network_.At(now_ + Nanoseconds(static_cast<int64_t>(delay)),
              [this, &side, act, life = side.life] {
                if (side.life == life && IsLive(side)) act();
              });
}

void CmRun::OnOutsider(uint32_t node, const CmRaisedEvent& event) {
  if (random_.Chance(1, 2)) return;  // it times out
  (void)Do(node, [&](CmManager& manager, CmStep& step) {
    return manager.Reject(event.connection, {.reason = wire::CmRejectReason::kConsumer}, step);
  });
}

void CmRun::OnRequest(CmConversation& conversation, const CmRaisedEvent& event) {
  CmSide& passive = conversation.passive;
  oracle_.Know(conversation, passive, event.connection);
  if (Chance(plan_.destroys)) {
    Later(passive, plan_.duration, [&] { Destroy(passive); });
  }
  if (Chance(plan_.ignores)) {
    passive.ignores = true;
    return;
  }
  if (Chance(plan_.mras)) SendMra(passive);
  passive.ignores = true;  // until it responds in time
  const bool rejects = Chance(plan_.rejects);
  Later(passive, plan_.think_max, [this, &conversation, &passive, rejects] {
    if (rejects) return Reject(conversation, passive);
    Accept(conversation);
  });
}

void CmRun::OnSidrRequest(uint32_t node, const CmRaisedEvent& event) {
  CmConversation* const conversation = oracle_.OnSidrRequest(node, event);
  if (conversation == nullptr || Chance(plan_.ignores)) return;
  conversation->was_accepted = true;
  const wire::CmSidrRep rep{.private_data =
                                DataOf<136>(conversation->number, wire::CmAttribute::kSidrRep)};
  (void)Do(node, [&](CmManager& manager, CmStep& step) {
    return manager.sidr().Answer(event.sidr, rep, step);
  });
}

void CmRun::OnSidrEnd(uint32_t node, const CmRaisedEvent& event) {
  const auto found = questions_.find({node, nodes_[node].life, event.sidr});
  if (found != questions_.end()) oracle_.OnSidrEnd(conversations_[found->second], event);
}

void CmRun::React(const CmOracle::Known& known, const CmRaisedEvent& event) {
  CmConversation& conversation = *known.conversation;
  CmSide& side = *known.side;
  if (event.type == CmEventType::kConnectResponse) {
    if (Chance(plan_.mras)) SendMra(side);
    side.ignores = true;  // likewise
    if (Chance(plan_.ignores)) return;
    const bool rejects = Chance(plan_.rejects);
    Later(side, plan_.think_max, [this, &conversation, &side, rejects] {
      if (rejects) return Reject(conversation, side);
      Establish(conversation);
    });
  } else if (event.type == CmEventType::kEstablished) {
    Later(side, 2 * plan_.think_max, [&] { Disconnect(conversation, side); });
  } else if (event.type == CmEventType::kDisconnected && event.message &&
             std::holds_alternative<wire::CmDreq>(*event.message) && !Chance(plan_.ignores)) {
    // Not by Later: the connection is over, and waits for this call, which may have been made
    // already.
    (void)Do(side.node, [&](CmManager& manager, CmStep& step) {
      return manager.Disconnect(side.id, {}, step);
    });
  }
}

void CmRun::Accept(CmConversation& conversation) {
  CmSide& passive = conversation.passive;
  passive.qp = FreeQp(nodes_[passive.node]);
  const wire::CmRep rep{.local_qp = passive.qp,
                        .private_data = DataOf<196>(conversation.number, wire::CmAttribute::kRep)};
  passive.accepts = Do(passive.node, [&](CmManager& manager, CmStep& step) {
                      return manager.Accept(passive.id, rep, step);
                    }).has_value();
  conversation.was_accepted = true;
  if (!passive.accepts) findings_.Add("calls", "an Accept was refused");
  if (plan_.think_max < wire::DurationOf(wire::CmTimeout(plan_.response_timeout))) {
    passive.ignores = false;
  }
}

void CmRun::Establish(CmConversation& conversation) {
  CmSide &active = conversation.active, &passive = conversation.passive;
  active.establishes = true;
  const wire::CmRtu rtu{.private_data = DataOf<224>(conversation.number, wire::CmAttribute::kRtu)};
  const auto done = Do(active.node, [&](CmManager& manager, CmStep& step) {
    return manager.Establish(active.id, rtu, step);
  });
  if (!done) return findings_.Add("calls", "an Establish was refused");
  if (plan_.think_max < wire::DurationOf(wire::CmTimeout(plan_.response_timeout))) {
    active.ignores = false;
  }
  if (Chance(plan_.notifies)) {
    Later(passive, plan_.delay_max, [this, &passive] {
      (void)Do(passive.node, [&](CmManager& manager, CmStep& step) {
        return manager.NotifyEstablished(passive.id, step);
      });
    });
  }
  // The transport would notice a dead peer; here the consumer disconnects after a while.
  Later(active, 4 * plan_.think_max, [&] { Disconnect(conversation, active); });
}

void CmRun::Reject(CmConversation& conversation, CmSide& side) {
  const wire::CmRej rej{.reason = wire::CmRejectReason::kConsumer,
                        .private_data = DataOf<148>(conversation.number, wire::CmAttribute::kRej)};
  side.rejects = conversation.was_rejected = true;
  const auto done = Do(side.node, [&](CmManager& manager, CmStep& step) {
    return manager.Reject(side.id, rej, step);
  });
  if (!done) findings_.Add("calls", "a Reject was refused");
}

void CmRun::SendMra(CmSide& side) {
  const wire::CmMra mra{.service_timeout = wire::CmTimeout(
                            static_cast<uint8_t>(plan_.response_timeout + random_.Below(4)))};
  const auto done = Do(side.node, [&](CmManager& manager, CmStep& step) {
    return manager.SendMra(side.id, mra, step);
  });
  if (!done) findings_.Add("calls", "a SendMra was refused");
}

void CmRun::Disconnect(CmConversation& conversation, CmSide& side) {
  (void)Do(side.node, [&](CmManager& manager, CmStep& step) {
    return manager.Disconnect(side.id, DataOf<220>(conversation.number, wire::CmAttribute::kDreq),
                              step);
  });
}

void CmRun::Destroy(CmSide& side) {
  Say(side.node, "destroys");
  side.destroys = true;
  (void)Do(side.node,
           [&](CmManager& manager, CmStep& step) { return manager.Destroy(side.id, step); });
}

}  // namespace verbena::sim
