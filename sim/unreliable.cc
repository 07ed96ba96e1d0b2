#include "sim/unreliable.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "sim/draw.h"
#include "wire/ipv4_header.h"

namespace verbena::sim {

void Unreliable::Populate(const std::vector<std::unique_ptr<Endnode>>& endnodes) {
  endnodes_ = &endnodes;
  for (uint32_t i = 0; i < swarm_.uc_connections; ++i) Connect();
  for (uint32_t i = 0; i < swarm_.ud_queue_pairs; ++i) AddDatagram();
}

Psn Unreliable::SomePsn() {
  const uint32_t near_wrap = wire::kMax24 - static_cast<uint32_t>(random_.Below(64));
  return Psn(random_.Chance(1, 2) ? near_wrap : random_.Next32() & wire::kMax24);
}

void Unreliable::Connect() {
  const uint64_t count = endnodes_->size();
  const uint64_t first = random_.Below(count);
  const uint64_t nodes[2] = {first, (first + 1 + random_.Below(count - 1)) % count};
  UnreliableEndpoint* ends[2];
  for (size_t i = 0; i < 2; ++i) {
    ends[i] = &AddEndpoint(*(*endnodes_)[nodes[i]], QpType::kUc);
  }
  const Psn psns[2] = {SomePsn(), SomePsn()};
  for (size_t i = 0; i < 2; ++i) {
    ends[i]->Connect(psns[i], Endnode::Peer{ends[1 - i]->number,
                                            static_cast<uint32_t>(nodes[1 - i]), psns[1 - i]});
  }
}

void Unreliable::AddDatagram() {
  Endnode& node = *(*endnodes_)[random_.Below(endnodes_->size())];
  UnreliableEndpoint& endpoint = AddEndpoint(node, QpType::kUd);
  endpoint.Connect(SomePsn(), std::nullopt);
  JoinSome(endpoint);
}

UnreliableEndpoint& Unreliable::AddEndpoint(Endnode& node, QpType type) {
  while (!numbers_.insert(node.NextNumber().value()).second) node.SkipNumber();
  endpoints_.push_back(std::make_unique<UnreliableEndpoint>(swarm_, node, type, random_));
  return *endpoints_.back();
}

UnreliableEndpoint* Unreliable::Find(QpNumber number) const {
  for (const auto& endpoint : endpoints_) {
    if (endpoint->number == number) return endpoint.get();
  }
  return nullptr;
}

void Unreliable::FillReceives(bool is_calm) {
  for (const auto& endpoint : endpoints_) {
    const bool fills = is_calm || !random_.Chance(swarm_.dry, 1000);
    if (!fills || endpoint->state() == QpState::kErr) continue;
    endpoint->own_pool.Fill(random_, [&](const queue::ReceiveWorkRequest& request) {
      return endpoint->qp->receive_queue().Post(request).has_value();
    });
    endpoint->node->Kick(*endpoint->qp, /*polls=*/false);
    if (!endpoint->qp->IsConsistent()) {
      findings_.Add("leaks", "an unreliable queue pair is not consistent");
    }
  }
}

bool Unreliable::OnEvent(const adapter::Event& event) {
  const UnreliableEndpoint* const endpoint = Find(event.qp);
  if (endpoint == nullptr) return false;
  const bool is_expected = event.type == AsyncEventType::kCommunicationEstablished;
  const bool is_allowed_error =
      endpoint->has_lost_memory || endpoint->has_overflowed() || swarm_.page_in_failure > 0;
  if (!is_expected && !is_allowed_error) {
    findings_.Add("completions", "an unreliable queue pair tells of an error");
  }
  return true;
}

void Unreliable::OnCqError(const adapter::Cq* cq) {
  for (const auto& endpoint : endpoints_) {
    for (ProgramCq* const own : {&endpoint->send_cq, &endpoint->receive_cq}) {
      if (own == cq) own->OnError(findings_);
    }
  }
}

void Unreliable::CheckOverflows(const Endnode& node) {
  for (const auto& endpoint : endpoints_) {
    if (endpoint->node != &node) continue;
    endpoint->send_cq.CheckReported(findings_);
    endpoint->receive_cq.CheckReported(findings_);
    if (endpoint->has_overflowed() && endpoint->state() != QpState::kErr) {
      findings_.Add("overflow", "an unreliable queue pair has lost a completion and goes on");
    }
  }
}

void Unreliable::Calm() {
  for (const auto& endpoint : endpoints_) {
    endpoint->send_cq.Neglect(Time());
    endpoint->receive_cq.Neglect(Time());
  }
}

void Unreliable::Poll(Time now) {
  for (const auto& endpoint : endpoints_) {
    const bool kept_before = std::exchange(endpoint->was_keeping, endpoint->has_held());
    if (endpoint->was_keeping && !kept_before) ++kept_;
    if (!endpoint->receive_cq.is_neglected(now)) PollReceives(*endpoint);
  }
  for (const auto& endpoint : endpoints_) {
    if (!endpoint->send_cq.is_neglected(now)) PollSends(*endpoint, now);
  }
  Settle(now);
  const auto failed = std::ranges::find_if(
      endpoints_, [](const auto& endpoint) { return endpoint->state() == QpState::kErr; });
  if (failed == endpoints_.end() || !findings_.empty()) return;
  const bool is_allowed_error =
      (*failed)->has_lost_memory || (*failed)->has_overflowed() || swarm_.page_in_failure > 0;
  if (!is_allowed_error) {
    findings_.Add("completions", "an unreliable queue pair has failed, and nothing tells why");
  }
  Replace(**failed, now);
}

void Unreliable::PollReceives(UnreliableEndpoint& endpoint) {
  std::array<Completion, 64> completions;
  const size_t count = endpoint.receive_cq.Poll(completions).value_or(0);
  for (size_t i = 0; i < count; ++i) {
    const Completion& completion = completions[i];
    const auto offset = endpoint.OffsetOf(completion.id, findings_);
    if (!offset) return;
    const bool well = completion.status == CompletionStatus::kSuccess;
    if (well) {
      OnMessage(endpoint, completion, *offset);
    } else if (endpoint.state() != QpState::kErr) {
      findings_.Add("completions", std::string("an unreliable receive request ended with ") +
                                       NameOf(completion.status));
    }
    endpoint.receives().Finish(completion.id, well, findings_);
  }
}

void Unreliable::OnMessage(UnreliableEndpoint& endpoint, const Completion& completion,
                           uint64_t offset) {
  const QpNumber source(completion.source_qp.value());
  uint64_t header = 0;
  Ipv4Address to = Network::AddressOf(swarm_, endpoint.node->number);
  if (!endpoint.is_connected()) {
    header = transport::kGrhSize;
    if (!completion.has_grh || completion.byte_count < header) {
      return findings_.Add("messages", "a datagram without the header that goes before it");
    }
    const auto destination = ReadGrh(Find(source), endpoint, offset);
    if (!destination) return;
    to = *destination;
  }
  MessagesOracle* const messages = OracleFor(endpoint, source, to);
  const bool is_peer = !endpoint.is_connected() || source == endpoint.peer->number;
  if (messages == nullptr || !is_peer) {
    return findings_.Add("messages", "a message from a queue pair that has sent none");
  }
  std::optional<uint32_t> immediate;
  if (completion.with_immediate) immediate = completion.immediate.value();
  const bool is_write = completion.opcode == CompletionOpcode::kReceiveWithImmediate;
  const std::span<const std::byte> bytes(endpoint.receives().guarded()->At(offset + header),
                                         completion.byte_count - header);
  ++received_;
  const auto id = messages->Received(bytes, immediate, is_write, findings_);
  if (id && is_write) {
    endpoint.exposed->shadow().Finish(*id, true, "an unreliable write", findings_);
  }
}

// IBA A17: for IPv4, the header is in the last 20 bytes. Returns the destination of the datagram.
std::optional<Ipv4Address> Unreliable::ReadGrh(const UnreliableEndpoint* from,
                                               UnreliableEndpoint& to, uint64_t offset) {
  constexpr size_t kHeader = wire::Ipv4Header::kSize;
  const std::span<const std::byte> grh(to.receives().guarded()->At(offset), transport::kGrhSize);
  const auto header = wire::Ipv4Header::Parse(grh.last(kHeader));
  const bool is_empty = std::ranges::all_of(grh.first(transport::kGrhSize - kHeader),
                                            [](std::byte b) { return b == std::byte{0}; });
  const bool is_from = header && (from == nullptr ||
                                  header->source == Network::AddressOf(swarm_, from->node->number));
  if (is_empty && is_from) return header->destination;
  findings_.Add("messages", "the header before a datagram does not tell who sent it");
  return std::nullopt;
}

void Unreliable::PollSends(UnreliableEndpoint& endpoint, Time now) {
  std::array<Completion, 64> completions;
  const size_t count = endpoint.send_cq.Poll(completions).value_or(0);
  const AllowedErrors allowed_errors{.is_broken = endpoint.state() != QpState::kRts,
                                     .pages_may_fail = swarm_.page_in_failure > 0,
                                     .has_lost_memory = endpoint.has_lost_memory};
  for (size_t i = 0; i < count; ++i) {
    endpoint.sends.Completed(
        completions[i], allowed_errors, findings_,
        [&](Operation& operation, bool well) { Ended(endpoint, operation, well, now); });
  }
}

// A send completes when its bytes are no longer needed, which says nothing about the receiver.
void Unreliable::Ended(UnreliableEndpoint& endpoint, Operation& operation, bool well, Time now) {
  if (operation.local_slot) endpoint.free_local.push_back(*operation.local_slot);
  if (!well) {
    std::erase_if(group_letters_, [&](const auto& sent) { return sent.letter.id == operation.id; });
  }
  const QpNumber to(operation.to);
  UnreliableEndpoint* const peer = Find(to);
  if (peer == nullptr) return;
  if (!well && operation.is_awaited) peer->messages.at(endpoint.number.value()).NotSent();
  if (!operation.remote_slot) return;
  const bool has_pages = swarm_.eviction == 0 || swarm_.page_in_failure == 0;
  const bool must_be_there = well && operation.opcode == queue::SendOpcode::kWrite &&
                             !operation.is_forbidden && nothing_is_lost() && has_pages &&
                             !peer->has_lost_memory;
  settling_.push_back({now + swarm_.delay + swarm_.jitter + Microseconds(100), to, operation.id,
                       *operation.remote_slot, must_be_there});
}

void Unreliable::Settle(Time now) {
  while (!settling_.empty() && settling_.front().at <= now) {
    Settling settled = settling_.front();
    settling_.pop_front();
    UnreliableEndpoint* const endpoint = Find(settled.to);
    if (endpoint == nullptr) continue;
    if (endpoint->has_held()) {
      settled.at = now + Microseconds(100);
      settling_.push_back(settled);
      continue;
    }
    // A queue pair whose completion queue overflows is in error, and drops packets.
    const bool is_served = !endpoint->has_lost_memory && !endpoint->has_overflowed();
    endpoint->exposed->shadow().Finish(settled.id, settled.must_be_there && is_served,
                                       "an unreliable write", findings_);
    endpoint->free_exposed.push_back(settled.slot);
  }
}

void Unreliable::Disturb(Time now) {
  if (endpoints_.empty()) return;
  if (swarm_.group_changes > 0) JoinOrLeave();
  UnreliableEndpoint& endpoint = *endpoints_[random_.Below(endpoints_.size())];
  if (swarm_.neglect > 0 && random_.Chance(swarm_.neglect, 1000)) {
    ProgramCq& cq = random_.Chance(1, 2) ? endpoint.send_cq : endpoint.receive_cq;
    cq.Neglect(now + UpTo(random_, ProgramCq::kNeglectMax));
  }
  const std::vector<GuardedMemory*> memories = endpoint.memories();
  GuardedMemory& guarded = *memories[random_.Below(memories.size())];
  const uint64_t page = random_.Below(guarded.pages());
  if (random_.Chance(swarm_.eviction, 1000)) guarded.Evict(endpoint.node->core, page);
  if (random_.Chance(swarm_.unmapping, 1000)) {
    guarded.Vanish(page, 1);
    endpoint.has_lost_memory = true;
  }
}

void Unreliable::Crashed(const Endnode& victim, Time now) {
  const auto lives_there = [&](const auto& endpoint) { return endpoint->node == &victim; };
  while (findings_.empty()) {
    const auto found = std::ranges::find_if(endpoints_, lives_there);
    if (found == endpoints_.end()) return;
    Replace(**found, now);
  }
}

// Replaces both ends of a connection.
void Unreliable::Replace(UnreliableEndpoint& endpoint, Time now) {
  members_are_first_ = false;
  const std::optional<Endnode::Peer> peer = endpoint.peer;
  const QpNumber number = endpoint.number;
  TakeDown(endpoint, now);
  if (peer) TakeDown(*Find(peer->number), now);
  std::erase_if(endpoints_, [&](const auto& gone) {
    return gone->number == number || (peer && gone->number == peer->number);
  });
  peer ? Connect() : AddDatagram();
}

void Unreliable::TakeDown(UnreliableEndpoint& endpoint, Time now) {
  endpoint.node->Modify(*endpoint.qp, QpState::kErr);
  while (endpoint.receive_cq.size() > 0 && findings_.empty()) PollReceives(endpoint);
  while (endpoint.send_cq.size() > 0 && findings_.empty()) PollSends(endpoint, now);
  const auto ended = [](Operation&, bool) {};
  endpoint.send_cq.overflowed() ? endpoint.sends.Lost(ended)
                                : endpoint.sends.Drained(findings_, ended);
  const bool may_lack = endpoint.receive_cq.overflowed();
  if (!endpoint.own_pool.empty() && !may_lack) {
    findings_.Add("completions", "a receive request has not ended");
  }
  if (may_lack && endpoint.shared != nullptr) endpoint.shared->Lost();
  endpoint.send_cq.CheckEnd(findings_);
  endpoint.receive_cq.CheckEnd(findings_);
  endpoint.Release();
}

bool Unreliable::IsQuiet() const {
  return settling_.empty() && std::ranges::all_of(endpoints_, [](const auto& endpoint) {
           return endpoint->qp->send_queue().begin() == endpoint->qp->send_queue().end() &&
                  !endpoint->has_held();
         });
}

Time Unreliable::next_time() const {
  return settling_.empty() ? Time::Never() : settling_.front().at;
}

void Unreliable::Check() {
  for (const auto& endpoint : endpoints_) {
    for (GuardedMemory* const guarded : endpoint->memories()) guarded->shadow().Check(findings_);
  }
}

// If the network loses nothing, missing messages were dropped and counted by their receiver.
void Unreliable::TakeDown(Time now) {
  Poll(now);
  Check();
  CheckGroupLetters();
  for (const auto& endpoint : endpoints_) {
    uint64_t lost = 0;
    for (const auto& [from, messages] : endpoint->messages) {
      if (Find(QpNumber(from)) != nullptr) lost += messages.lost();
    }
    // Multicast datagrams that reached the endnode are not lost in the network.
    if (!nothing_is_lost()) lost = 0;
    lost += endpoint->group_messages_lost();
    if (lost > endpoint->dropped()) {
      findings_.Add("messages", std::to_string(lost) + " messages were lost, and " +
                                    std::to_string(endpoint->dropped()) + " were counted");
    }
  }
  for (const auto& endpoint : endpoints_) TakeDown(*endpoint, now);
  endpoints_.clear();
}

}  // namespace verbena::sim
