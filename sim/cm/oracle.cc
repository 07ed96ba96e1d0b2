#include "sim/cm/oracle.h"

#include <string>
#include <variant>

#include "sim/cm/network.h"

namespace verbena::sim {

using transport::CmRaisedEvent;
using verbena::CmEventType;

void CmOracle::Object(const CmConversation& conversation, const char* what) {
  findings_.Add("conversation " + std::to_string(conversation.number), what);
}

void CmOracle::Know(CmConversation& conversation, CmSide& side, wire::CommId id) {
  side.id = id;
  side.is_known = true;
  const Place place{conversation.number, &side == &conversation.active};
  if (!ids_.emplace(std::tuple{side.node, side.life, id}, place).second) {
    Object(conversation, "an id was given twice");
  }
}

std::optional<CmOracle::Known> CmOracle::Find(uint32_t node, uint32_t life, wire::CommId id) const {
  const auto found = ids_.find({node, life, id});
  if (found == ids_.end()) return std::nullopt;
  CmConversation& conversation = conversations_[found->second.conversation];
  CmSide* const active = &conversation.active;
  CmSide* const passive = &conversation.passive;
  if (found->second.is_active) return Known{&conversation, active, passive};
  return Known{&conversation, passive, active};
}

template <class Message>
void CmOracle::CheckData(const CmConversation& conversation, const CmRaisedEvent& event) {
  const auto* const message = event.message ? std::get_if<Message>(&*event.message) : nullptr;
  if (message == nullptr) return Object(conversation, "an event has another message");
  constexpr std::size_t kSize = decltype(message->private_data)::kSize;
  if (message->private_data != DataOf<kSize>(conversation.number, Message::kAttribute)) {
    Object(conversation, "private data is not what was sent");
  }
}

CmConversation* CmOracle::OnConnectRequest(uint32_t node, uint32_t life,
                                           const CmRaisedEvent& event) {
  if (CmNetwork::NodeOf(event.peer.address) >= plan_.nodes) return nullptr;
  const uint32_t number = NumberIn(std::get<wire::CmReq>(*event.message).private_data);
  if (number >= conversations_.size()) {
    findings_.Add("requests", "a request is of no conversation");
    return nullptr;
  }
  CmConversation& conversation = conversations_[number];
  CheckData<wire::CmReq>(conversation, event);
  if (conversation.passive.node != node) Object(conversation, "a request came to another node");
  // What gave way to another peer's is soon forgotten: the peer may ask again after its end.
  const bool may_have_given_way = plan_.is_crowded() && conversation.passive.finals > 0;
  if (conversation.passive.life != life || may_have_given_way) {
    conversation.passive = {.node = node, .life = life};
  }
  if (++conversation.passive.requests > 1) Object(conversation, "two connect requests");
  CheckQp(conversation);
  return &conversation;
}

// The peer has one connection per QP; the rest of an older one had to be refused first.
void CmOracle::CheckQp(const CmConversation& conversation) {
  const CmSide &active = conversation.active, &passive = conversation.passive;
  for (const CmConversation& other : conversations_) {
    const bool is_live = other.passive.is_known && !other.passive.is_over() &&
                         other.passive.node == passive.node && other.passive.life == passive.life;
    if (&other != &conversation && is_live && other.active.node == active.node &&
        other.active.qp == active.qp) {
      Object(conversation, "a second connection of one QP");
    }
  }
}

void CmOracle::OnEvent(const Known& known, const CmRaisedEvent& event) {
  const auto& [conversation, side, other] = known;
  if (side->destroys) Object(*conversation, "an event of what was destroyed");
  switch (event.type) {
    case CmEventType::kConnectResponse:
      if (++side->responses > 1) Object(*conversation, "two connect responses");
      if (side->is_over()) Object(*conversation, "a connect response after the end");
      if (!conversation->was_accepted) Object(*conversation, "a response, and it was not accepted");
      return CheckData<wire::CmRep>(*conversation, event);
    case CmEventType::kEstablished:
      if (++side->established > 1) Object(*conversation, "established twice");
      if (side->is_over()) Object(*conversation, "established after the end");
      if (!other->establishes) Object(*conversation, "established, and the peer is not");
      if (event.message) CheckData<wire::CmRtu>(*conversation, event);
      return;
    case CmEventType::kRejected:
    case CmEventType::kUnreachable:
    case CmEventType::kDisconnected:
      return OnFinal(known, event);
    case CmEventType::kTimewaitExit:
      if (++side->exits > 1) Object(*conversation, "two ends of a timewait");
      if (!side->is_over()) Object(*conversation, "a timewait of what is not over");
      return;
    default:
      Object(*conversation, "an event of another kind");
  }
}

void CmOracle::OnFinal(const Known& known, const CmRaisedEvent& event) {
  const auto& [conversation, side, other] = known;
  if (side->is_over()) Object(*conversation, "two ends of a connection");
  ++side->finals;
  if (event.type == CmEventType::kRejected) {
    const auto& rej = std::get<wire::CmRej>(*event.message);
    side->was_refused = rej.reason != wire::CmRejectReason::kConsumer;
    if (rej.reason == wire::CmRejectReason::kConsumer && !other->destroys) {
      CheckData<wire::CmRej>(*conversation, event);
      if (!conversation->was_rejected) Object(*conversation, "rejected, and the peer did not");
    }
  }
  if (event.type == CmEventType::kUnreachable && plan_.is_lossless() && !plan_.is_crowded() &&
      !side->ignores && !other->ignores && !other->destroys) {
    Object(*conversation, "unreachable, and nothing was lost");
  }
  if (event.type == CmEventType::kDisconnected && event.message && !other->destroys) {
    // An empty DREP comes from a side that disconnected at the same time, or without a connection.
    if (std::holds_alternative<wire::CmDreq>(*event.message) && other->life == 0 &&
        plan_.crashes == 0) {
      CheckData<wire::CmDreq>(*conversation, event);
    }
  }
}

CmConversation* CmOracle::OnSidrRequest(uint32_t node, const CmRaisedEvent& event) {
  if (CmNetwork::NodeOf(event.peer.address) >= plan_.nodes) return nullptr;
  const uint32_t number = NumberIn(std::get<wire::CmSidrReq>(*event.message).private_data);
  if (number >= conversations_.size()) {
    findings_.Add("requests", "a SIDR request is of no conversation");
    return nullptr;
  }
  CmConversation& conversation = conversations_[number];
  CheckData<wire::CmSidrReq>(conversation, event);
  if (conversation.passive.node != node) Object(conversation, "a request came to another node");
  if (++conversation.passive.requests > 1 && plan_.crashes == 0) {
    Object(conversation, "two SIDR requests");
  }
  return &conversation;
}

void CmOracle::OnSidrEnd(CmConversation& conversation, const CmRaisedEvent& event) {
  if (++conversation.active.finals > 1) Object(conversation, "two ends of a SIDR question");
  if (event.type != CmEventType::kSidrResponse) return;
  const auto& rep = std::get<wire::CmSidrRep>(*event.message);
  if (rep.status != wire::CmSidrStatus::kValid) return;
  if (!conversation.was_accepted) Object(conversation, "a SIDR answer that was not given");
  CheckData<wire::CmSidrRep>(conversation, event);
}

void CmOracle::CheckSide(const CmConversation& conversation, const CmSide& side, uint32_t life) {
  if (!side.is_known || side.life != life) return;
  if (!side.is_over()) Object(conversation, "one side has not heard of the end");
}

void CmOracle::CheckEnd(const std::vector<uint32_t>& lives) {
  for (const CmConversation& conversation : conversations_) {
    const CmSide &active = conversation.active, &passive = conversation.passive;
    CheckSide(conversation, active, lives[active.node]);
    if (conversation.is_sidr) continue;
    CheckSide(conversation, passive, lives[passive.node]);
    // Nothing is lost, so every message that arrives has an effect.
    const bool is_calm = plan_.is_lossless() && !active.ignores && !passive.ignores &&
                         !active.destroys && !passive.destroys;
    if (is_calm && passive.accepts && active.responses == 0 && !active.was_refused) {
      Object(conversation, "accepted, and the peer never heard of it");
    }
  }
}

}  // namespace verbena::sim
