#include "sim/lanes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace verbena::sim {

namespace {

// A separate random stream, so that draws here do not change others.
constexpr uint64_t kStream = 0x1A9E;

uint32_t CountOf(LaneKind kind, const Swarm& swarm) {
  switch (kind) {
    case LaneKind::kXrc:
      return swarm.xrc_connections;
    case LaneKind::kReactive:
      return swarm.reactive_connections;
    case LaneKind::kTagged:
      return swarm.tag_connections;
    case LaneKind::kManaged:
      return swarm.managed_connections;
    case LaneKind::kCached:
      return swarm.cached_connections;
  }
  UNREACHABLE();
}

}  // namespace

Lanes::Lanes(LaneKind kind, const Swarm& swarm,
             const std::vector<std::unique_ptr<Endnode>>& endnodes, Findings& findings)
    : kind_(kind),
      swarm_(swarm),
      random_(swarm.seed ^ (kStream + static_cast<uint64_t>(kind))),
      endnodes_(endnodes),
      findings_(findings) {
  if (kind == LaneKind::kManaged && swarm.guests > 0) {
    hypervisor_ = std::make_unique<Hypervisor>(swarm, endnodes.front()->clock);
  }
  for (uint32_t i = 0; i < CountOf(kind, swarm); ++i) Connect();
}

// Packets to a dead queue pair may still arrive when its number is reused.
void Lanes::Reserve(Endnode& node) {
  while (!numbers_.insert(node.NextNumber().value()).second) node.SkipNumber();
}

void Lanes::Connect() {
  const uint64_t count = endnodes_.size();
  const uint64_t first = random_.Below(count);
  const uint64_t second = (first + 1 + random_.Below(count - 1)) % count;
  LaneHost* const managed = SomeManagedHost();
  Endnode& to = managed != nullptr ? *managed->node : *endnodes_[second];
  Endnode& from = *endnodes_[endnodes_[first].get() == &to ? second : first];
  LaneHost& host = HostOn(to);
  Reserve(from);
  Reserve(to);
  lanes_.push_back(std::make_unique<Lane>(swarm_, from, host, random_));
  lanes_.back()->cached = CachedOn(from);
  lanes_.back()->cached_peer = CachedOn(to);
  lanes_.back()->Connect(Psn(random_.Next32() & wire::kMax24));
}

LaneHost& Lanes::HostOn(Endnode& node) {
  const auto found =
      std::ranges::find_if(hosts_, [&](const auto& host) { return host->node == &node; });
  if (found != hosts_.end()) return **found;
  hosts_.push_back(std::make_unique<LaneHost>(swarm_, node, kind_, random_, hypervisor_.get()));
  return *hosts_.back();
}

Lane* Lanes::Find(QpNumber receiver) {
  for (const auto& lane : lanes_) {
    if (lane->receiver->number() == receiver) return lane.get();
  }
  return nullptr;
}

void Lanes::Disturb() {
  if (lanes_.empty() || !random_.Chance(swarm_.eviction, 1000)) return;
  Lane& lane = *lanes_[random_.Below(lanes_.size())];
  LaneReceiver& receiver = *lane.host->receivers[random_.Below(lane.host->receivers.size())];
  const std::pair<GuardedMemory*, Endnode*> memories[] = {
      {lane.local.get(), lane.from},
      {lane.exposed.get(), lane.host->node},
      {receiver.shared.pool().guarded(), lane.host->node}};
  const auto& [guarded, node] = memories[random_.Below(std::size(memories))];
  guarded->Evict(node->core, random_.Below(guarded->pages()));
}

void Lanes::FillReceives(bool is_calm) {
  if (hypervisor_) RunHypervisor(is_calm);
  for (const auto& host : hosts_) {
    if (host->managed) host->managed->Step(is_calm, findings_);
    for (const auto& receiver : host->receivers) {
      if (is_calm || !random_.Chance(swarm_.dry, 1000)) receiver->shared.Fill(is_calm);
      if (receiver->tags) receiver->tags->Change();
    }
  }
  for (const auto& lane : lanes_) FillNotices(*lane);
  for (const auto& cached : cached_) cached->Step(is_calm);
}

// All receivers are polled before all senders: a message that a sender knows to be received must
// have been received.
void Lanes::Poll(bool is_calm) {
  for (const auto& host : hosts_) {
    for (uint32_t i = 0; i < host->receivers.size(); ++i) PollReceiver(*host->receivers[i], i);
  }
  for (const auto& lane : lanes_) {
    PollNotices(*lane);
    PollSends(*lane);
    if (lane->is_flushing && !lane->is_broken && HasFailed(*lane->sender)) {
      findings_.Add("lanes", "a registration has failed, and with it the queue pair");
    }
    // A sender that waits for a response learns that the receiver refuses.
    const bool is_dead = HasFailed(*lane->receiver) && lane->is_idle();
    lane->is_broken = lane->is_broken || HasFailed(*lane->sender) || is_dead;
    ResumeSome(*lane, is_calm);
  }
  if (kind_ == LaneKind::kManaged && is_calm) ReadAllManaged();
  const auto broken =
      std::ranges::find_if(lanes_, [](const auto& lane) { return lane->is_broken; });
  if (broken == lanes_.end() || !findings_.empty()) return;
  TakeDown(**broken);
  Remove(**broken);
  Connect();
}

void Lanes::PollReceiver(LaneReceiver& receiver, uint32_t index) {
  std::array<Completion, 64> completions;
  while (receiver.cq.size() > 0 && findings_.empty()) {
    const size_t count = receiver.cq.Poll(completions).value();
    for (size_t i = 0; i < count; ++i) OnReceive(receiver, index, completions[i]);
  }
}

void Lanes::OnReceive(LaneReceiver& receiver, uint32_t index, const Completion& completion) {
  if (receiver.tags && OnTags(receiver, completion)) return;
  Lane* const lane = Find(completion.qp);
  const auto offset = receiver.shared.OffsetOf(completion.id, findings_);
  if (!offset) return;
  if (lane == nullptr) return findings_.Add("lanes", "a receive of a queue pair that is gone");
  const bool well = completion.status == CompletionStatus::kSuccess;
  if (well) {
    OnMessage(*lane, receiver, index, completion, *offset);
  } else if (!HasFailed(*lane->receiver) && !pages_may_fail()) {
    findings_.Add("lanes",
                  std::string("a receive request ended with ") + NameOf(completion.status));
  }
  if (receiver.tags && !well) receiver.tags->oracle().Failed(std::nullopt);
  receiver.shared.pool().Finish(completion.id, well, findings_);
}

// The oldest message to this receiver, in full.
void Lanes::OnMessage(Lane& lane, LaneReceiver& receiver, uint32_t index,
                      const Completion& completion, uint64_t offset) {
  const auto next =
      std::ranges::find_if(lane.inbound, [&](const auto& sent) { return sent->to == index; });
  if (next == lane.inbound.end()) {
    return findings_.Add("lanes", "a message for a receiver that none was sent to");
  }
  Operation& message = **next;
  const bool has_immediate = queue::PropertiesOf(message.opcode).carries_immediate;
  const bool fits =
      completion.byte_count == message.bytes.size() && completion.with_immediate == has_immediate &&
      (!has_immediate || completion.immediate.value() == message.immediate) &&
      (message.bytes.empty() || std::memcmp(receiver.shared.pool().guarded()->At(offset),
                                            message.bytes.data(), message.bytes.size()) == 0);
  if (!fits) findings_.Add("lanes", "a message was received that is not the next one");
  message.is_received = true;
  if (receiver.tags) OnUnmatched(lane, receiver, message, completion);
  lane.inbound.erase(next);
}

AllowedErrors Lanes::AllowedErrorsOf(const Lane& lane) const {
  constexpr uint32_t kRetriesForSegments = 3;  // see Workload::AllowedErrorsOf
  const bool is_managed = kind_ == LaneKind::kManaged;
  const bool pages_leave = swarm_.eviction > 0 || is_managed;
  const Duration page_in_max =
      is_managed ? std::max(swarm_.page_in_max, swarm_.store_latency) : swarm_.page_in_max;
  const bool slow_pages = page_in_max * 8 >= swarm_.ack_timeout;
  const bool drops_cost = swarm_.foreign && swarm_.retry_count == 0;
  // The receiver reads from the sender of a tagged message, so the sender fails if its pages do.
  const bool fails_as_responder =
      kind_ == LaneKind::kTagged && pages_may_fail() && HasFailed(*lane.sender);
  return {.is_broken = lane.is_broken || lane.is_flushing || fails_as_responder,
          .may_lose = !swarm_.single_is_safe() || swarm_.crash > 0 || HasFailed(*lane.receiver) ||
                      (swarm_.segments_max > 0 && swarm_.retry_count < kRetriesForSegments) ||
                      (pages_leave && (slow_pages || drops_cost)),
          .may_run_dry = swarm_.rnr_retry < 7,
          .pages_may_fail = pages_may_fail()};
}

void Lanes::PollSends(Lane& lane) {
  std::array<Completion, 64> completions;
  while (lane.send_cq.size() > 0 && findings_.empty()) {
    const size_t count = lane.send_cq.Poll(completions).value();
    for (size_t i = 0; i < count; ++i) {
      lane.sends.Completed(completions[i], AllowedErrorsOf(lane), findings_,
                           [&](Operation& operation, bool well) { Ended(lane, operation, well); });
      if (completions[i].status != CompletionStatus::kSuccess) OnError(lane, completions[i]);
    }
  }
}

// Row B3: a failed registration flushes the elements after it, and does not end the connection.
// Later requests are flushed until the program has got the drain event and resumes the queue.
void Lanes::OnError(Lane& lane, const Completion& completion) {
  if (completion.status == CompletionStatus::kLocalQpOperationError) {
    lane.is_flushing = true;
  } else if (!lane.is_flushing) {
    lane.is_broken = true;
  }
  if (completion.status == CompletionStatus::kRemoteInvalidRequest) ++refused_;
}

void Lanes::Ended(Lane& lane, Operation& operation, bool well) {
  const char* const name = queue::NameOf(operation.opcode);
  lane.exposed->shadow().Finish(operation.id, well, name, findings_);
  if (operation.managed_slot) OnManagedEnded(lane, operation, well);
  if (kind_ == LaneKind::kCached) OnCachedEnded(lane, operation, well);
  if (!well) {
    std::erase_if(lane.inbound, [&](const auto& sent) { return sent.get() == &operation; });
  } else if (IsMessage(operation.opcode) && !operation.is_received) {
    findings_.Add("lanes", std::string(name) + " succeeded, but was not received");
  }
  // Packets of a failed request may still be in the network.
  if (!well && !lane.is_flushing) return;
  operation.has_ended = true;
  if (!lane.offered.contains(operation.id)) Free(lane, operation);
  if (well) ++succeeded_;
}

void Lanes::Free(Lane& lane, const Operation& operation) {
  if (operation.local_slot) lane.free_local.push_back(*operation.local_slot);
  if (operation.remote_slot) lane.free_exposed.push_back(*operation.remote_slot);
}

void Lanes::ResumeSome(Lane& lane, bool is_calm) {
  if (!lane.is_flushing || !lane.is_drained || lane.is_broken || !lane.is_idle()) return;
  if (!is_calm && random_.Chance(3, 4)) return;
  lane.sends.Drained(findings_, [](Operation&, bool) {});
  if (lane.sender->state() != QpState::kSqd) {
    findings_.Add("lanes", "a registration has failed, and the send queue is not drained");
  }
  lane.sends.Resumed();
  lane.is_flushing = lane.is_drained = false;
  lane.from->Modify(*lane.sender, QpState::kRts);
  ++resumed_;
}

bool Lanes::OnEvent(const Endnode& node, const adapter::Event& event) {
  for (const auto& host : hosts_) {
    for (const auto& receiver : host->receivers) {
      if (event.srq != &receiver->shared.queue()) continue;
      receiver->shared.OnLimit(findings_);
      return true;
    }
  }
  return event.srq == nullptr && std::ranges::any_of(lanes_, [&](const auto& lane) {
           return OnLaneEvent(*lane, node, event);
         });
}

bool Lanes::OnLaneEvent(Lane& lane, const Endnode& node, const adapter::Event& event) {
  const bool is_senders = lane.from == &node && lane.sender->number() == event.qp;
  const bool is_receivers = lane.host->node == &node && lane.receiver->number() == event.qp;
  if (!is_senders && !is_receivers) return false;
  if (event.type == AsyncEventType::kSendQueueDrained) {
    if (lane.is_drained || !is_senders) findings_.Add("lanes", "a send queue drained twice");
    lane.is_drained = true;
  }
  const bool is_error = event.type == AsyncEventType::kQpAccessError ||
                        event.type == AsyncEventType::kQpRequestError ||
                        event.type == AsyncEventType::kQpFatal;
  if (is_error && !lane.is_provoked && !pages_may_fail()) {
    findings_.Add("lanes", std::string("an event that nothing allows: ") + NameOf(event.type));
  }
  return true;
}

void Lanes::OnNoMoreEvents(const Endnode& node) {
  for (const auto& host : hosts_) {
    if (host->node != &node) continue;
    for (const auto& receiver : host->receivers) receiver->shared.CheckLimit(findings_);
  }
}

void Lanes::Crashed(const Endnode& victim) {
  const auto is_on_it = [&](const auto& lane) {
    return lane->from == &victim || lane->host->node == &victim;
  };
  size_t lost = 0;
  for (auto found = std::ranges::find_if(lanes_, is_on_it);
       found != lanes_.end() && findings_.empty(); found = std::ranges::find_if(lanes_, is_on_it)) {
    TakeDown(**found);
    Remove(**found);
    ++lost;
  }
  for (const auto& host : hosts_) {
    if (host->node == &victim && findings_.empty()) host->Release(findings_);
  }
  std::erase_if(hosts_, [&](const auto& host) { return host->node == &victim; });
  for (size_t i = 0; i < lost; ++i) Connect();
}

bool Lanes::IsQuiet() const {
  const bool is_managed_quiet = std::ranges::all_of(hosts_, [](const auto& host) {
    return !host->managed || (host->managed->all_are_read() && host->managed->is_quiet());
  });
  return is_managed_quiet && std::ranges::all_of(lanes_, [](const auto& lane) {
           return lane->is_idle() && !lane->is_broken && !lane->is_flushing &&
                  lane->offered.empty();
         });
}

void Lanes::Check() {
  for (const auto& lane : lanes_) {
    lane->local->shadow().Check(findings_);
    lane->exposed->shadow().Check(findings_);
    if (!lane->sender->IsConsistent() || !lane->receiver->IsConsistent()) {
      findings_.Add("leaks", "a queue pair of a lane is not consistent");
    }
  }
  for (const auto& cached : cached_) cached->Check();
  for (const auto& host : hosts_) {
    for (const auto& receiver : host->receivers) {
      receiver->shared.pool().guarded()->shadow().Check(findings_);
      if (receiver->tags) receiver->tags->guarded()->shadow().Check(findings_);
    }
  }
}

void Lanes::TakeDown() {
  Check();
  for (const auto& lane : lanes_) {
    if (!lane->inbound.empty()) findings_.Add("lanes", "a message was never received");
    if (findings_.empty()) TakeDown(*lane);
  }
  lanes_.clear();
  EndCached();
  managed_of_gone_ = managed_counters();
  for (const auto& host : hosts_) {
    if (findings_.empty()) host->Release(findings_);
  }
  hosts_.clear();
}

void Lanes::TakeDown(Lane& lane) {
  lane.is_broken = true;
  lane.from->Modify(*lane.sender, QpState::kErr);
  lane.host->node->Modify(*lane.receiver, QpState::kErr);
  for (uint32_t i = 0; i < lane.host->receivers.size(); ++i) {
    PollReceiver(*lane.host->receivers[i], i);
  }
  PollSends(lane);
  lane.sends.Drained(findings_,
                     [&](Operation& operation, bool well) { Ended(lane, operation, well); });
  lane.Release();
}

void Lanes::Remove(const Lane& lane) {
  std::erase_if(lanes_, [&](const auto& known) { return known.get() == &lane; });
}

}  // namespace verbena::sim
