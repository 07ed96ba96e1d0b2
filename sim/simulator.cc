#include "sim/simulator.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "memory/copy/signal_guard.h"
#include "sim/oracle/leaks.h"

namespace verbena::sim {
namespace {

constexpr uint64_t kTurnsMax = 200'000;
// Far more than all retries of all connections can take.
constexpr Duration kEndMax = Seconds(60);
constexpr uint64_t kChecksEvery = 64;  // steps

void AddCounters(Endnode& node, Simulator::Result& result) {
  const adapter::EngineLock lock(node.engine);
  const PortCounters& counters = node.engine.counters();
  result.faults += node.pager.requests();
  result.stale += counters.dropped_for(Drop::kWrongPeer) + counters.dropped_for(Drop::kWrongPort);
  result.paths_single += counters.paths_single;
  result.copies_failed += counters.copies_failed;
  if (node.shared) result.srq_limits += node.shared->limit_events();
}

}  // namespace

Simulator::Result Simulator::Run(const Swarm& swarm, wire::PcapngWriter* capture) {
  memory::SignalGuard::Install();
  return Simulator(swarm, capture).RunAll();
}

Simulator::Simulator(const Swarm& swarm, wire::PcapngWriter* capture)
    : swarm_(swarm),
      random_(swarm.seed ^ 0x5EED),
      network_(swarm, random_.Fork(), capture),
      context_{.swarm = swarm_,
               .clock = clock_,
               .network = network_,
               .tap = [this](const Event& arrival) { OnArrived(arrival); }},
      workload_(swarm, random_.Fork(), findings_),
      unreliable_(swarm, random_.Fork(), findings_),
      attacker_(swarm, random_.Fork()) {
  network_.set_tap([this](uint32_t from, uint32_t to, std::span<const std::byte> packet) {
    OnSent(from, to, packet);
  });
  for (uint32_t i = 0; i < swarm.endnodes; ++i) {
    endnodes_.push_back(std::make_unique<Endnode>(context_, i, random_));
  }
  unreliable_.Populate(endnodes_);
  xrc_ = std::make_unique<Lanes>(LaneKind::kXrc, swarm, endnodes_, findings_);
  reactive_ = std::make_unique<Lanes>(LaneKind::kReactive, swarm, endnodes_, findings_);
  tagged_ = std::make_unique<Lanes>(LaneKind::kTagged, swarm, endnodes_, findings_);
  managed_ = std::make_unique<Lanes>(LaneKind::kManaged, swarm, endnodes_, findings_);
  cached_ = std::make_unique<Lanes>(LaneKind::kCached, swarm, endnodes_, findings_);
  programs_ = {xrc_.get(), reactive_.get(), tagged_.get(), managed_.get(), cached_.get()};
}

Simulator::Result Simulator::RunAll() {
  while (connections_.size() < swarm_.connections) Connect();
  RunSafely();
  if (findings_.empty()) RunToTheEnd();
  for (auto& connection : connections_) {
    if (findings_.empty()) TakeDown(*connection);
  }
  if (findings_.empty()) unreliable_.TakeDown(now());
  for (Program* const program : programs_) {
    if (findings_.empty()) program->TakeDown();
  }
  if (findings_.empty()) {
    connections_.clear();
    for (auto& node : endnodes_) {
      node->Close(findings_);
      CheckNothingIsLeft(node->core, findings_);
    }
    for (auto& node : crashed_) node->Close(findings_);
  }
  for (auto& node : endnodes_) AddCounters(*node, result_);
  for (auto& node : crashed_) AddCounters(*node, result_);
  if (swarm_.unmapping == 0 && result_.copies_failed > 0) {
    findings_.Add("access", "bytes to be sent were not there");
  }
  result_.failure = findings_.text();
  result_.packets = network_.counters().packets;
  result_.digest = network_.counters().digest;
  result_.segments_lost = network_.counters().segments_lost;
  result_.messages = unreliable_.received();
  result_.group_messages = unreliable_.group_received();
  result_.departures = unreliable_.departures();
  result_.uc_held = unreliable_.kept();
  result_.xrc_succeeded = xrc_->succeeded();
  result_.xrc_refused = xrc_->refused();
  result_.resumed = reactive_->resumed();
  result_.tags_matched = tagged_->matched();
  result_.unexpected = tagged_->unexpected();
  result_.rendezvous = tagged_->rendezvous();
  result_.managed = managed_->managed_counters();
  result_.cached = cached_->cached_counters();
  result_.succeeded = workload_.succeeded();
  result_.virtual_time = now() - Time();
  return result_;
}

// The safety phase: until everything is posted, or for a limited time.
void Simulator::RunSafely() {
  while (findings_.empty() && result_.posted < swarm_.operations && turns_ < kTurnsMax) {
    Disturb();
    PostSome();
    unreliable_.Post(now());
    for (Program* const program : programs_) program->Post(now());
    Step();
    ReplaceBroken();
  }
}

// The liveness phase.
void Simulator::RunToTheEnd() {
  is_calm_ = true;
  network_.Heal();
  unreliable_.Calm();
  for (auto& node : endnodes_) node->pager.Calm();
  ForEachSide([&](Connection& connection, int at) {
    connection.side(at).send_cq.Neglect(Time());
    connection.side(at).receive_cq.Neglect(Time());
    if (!connection.broken) workload_.SwapIn(connection, at);
  });
  const Time end = now() + kEndMax;
  while (findings_.empty() && !IsQuiet()) {
    if (now() >= end) return findings_.Add("liveness", "something is outstanding for ever");
    Step();
    ReplaceBroken();
  }
  CheckAll();
}

void Simulator::Step() {
  ++turns_;
  ForEachSide([&](Connection& connection, int at) {
    Side& side = connection.side(at);
    const bool fills = is_calm_ || !random_.Chance(swarm_.dry, 1000);
    if (fills && !connection.broken && side.qp) workload_.FillReceives(side);
  });
  for (auto& node : endnodes_) {
    const bool fills = is_calm_ || !random_.Chance(swarm_.dry, 1000);
    if (fills && node->shared) node->shared->Fill(is_calm_);
  }
  unreliable_.FillReceives(is_calm_);
  for (Program* const program : programs_) program->FillReceives(is_calm_);
  for (auto& node : endnodes_) RunEndnode(*node);
  PollAll();
  unreliable_.Poll(now());
  for (Program* const program : programs_) program->Poll(is_calm_);
  if (turns_ % kChecksEvery == 0) CheckAll();
  const Time soon = now() + Nanoseconds(100);
  const bool is_busy = std::ranges::any_of(endnodes_, [](auto& node) { return node->has_work(); });
  clock_.now = is_busy ? soon : std::max(soon, std::min(NextTime(), now() + Microseconds(50)));
  Deliver();
}

// Some thread of the process makes a pass.
void Simulator::RunEndnode(Endnode& node) {
  const Connection& connection = *connections_[random_.Below(connections_.size())];
  Side* comer = nullptr;
  for (const auto& side : connection.sides) {
    if (side->node == &node && side->qp && random_.Chance(1, 2)) comer = side.get();
  }
  if (comer != nullptr && comer->channel) {
    const adapter::Cq* const cq = node.PassFor(*comer->channel);
    if (cq != nullptr) comer->has_event[cq == &comer->receive_cq] = true;
  } else {
    node.Pass(comer != nullptr ? &comer->send_cq : nullptr);
  }
  TakeEvents(node);
}

void Simulator::TakeEvents(Endnode& node) {
  while (const auto event = node.TakeEvent()) {
    if (event->srq != nullptr && event->srq == node.srq()) {
      node.shared->OnLimit(findings_);
      continue;
    }
    const bool is_taken = std::ranges::any_of(
        programs_, [&](Program* program) { return program->OnEvent(node, *event); });
    if (is_taken) continue;
    if (event->type == AsyncEventType::kCqError) {
      OnCqError(event->cq);
      continue;
    }
    if (unreliable_.OnEvent(*event)) continue;
    ForEachSide([&](Connection& connection, int at) {
      const Side& side = connection.side(at);
      if (side.number == event->qp && side.node == &node) OnAsyncEvent(connection, at, *event);
    });
  }
  if (node.shared) node.shared->CheckLimit(findings_);
  for (Program* const program : programs_) program->OnNoMoreEvents(node);
  CheckOverflows(node);
}

void Simulator::OnCqError(const adapter::Cq* cq) {
  ++result_.overflows;
  unreliable_.OnCqError(cq);
  ForEachSide([&](Connection& connection, int at) {
    Side& side = connection.side(at);
    for (ProgramCq* const own : {&side.send_cq, &side.receive_cq}) {
      if (own != cq) continue;
      own->OnError(findings_);
      connection.has_reason = true;
      connection.Break(now(), swarm_.ack_timeout);
    }
  });
}

void Simulator::CheckOverflows(const Endnode& node) {
  unreliable_.CheckOverflows(node);
  ForEachSide([&](Connection& connection, int at) {
    const Side& side = connection.side(at);
    if (side.node != &node || !side.qp) return;
    side.send_cq.CheckReported(findings_);
    side.receive_cq.CheckReported(findings_);
  });
}

void Simulator::CheckStates() {
  ForEachSide([&](Connection& connection, int at) {
    const Side& side = connection.side(at);
    if (!side.qp) return;
    if (side.qp->state() == QpState::kErr) connection.Break(now(), swarm_.ack_timeout);
    if (!side.qp->IsConsistent()) findings_.Add("leaks", "a queue pair is not consistent");
  });
}

void Simulator::Connect() {
  const auto a = static_cast<uint32_t>(random_.Below(endnodes_.size()));
  Connect(a, SomePeerOf(a));
}

uint32_t Simulator::SomePeerOf(uint32_t node) {
  const uint64_t count = endnodes_.size();
  return static_cast<uint32_t>((node + 1 + random_.Below(count - 1)) % count);
}

// The next number of a node for a connection to `peer`. If a queue pair of the peer still sends to
// a dead one of the node, the number of that one is skipped: packets of reliable connections do not
// carry the source queue pair. Outside the simulator the number differs, except for one time in
// four thousand (docs/security.md).
QpNumber Simulator::NextNumber(uint32_t node, uint32_t peer) {
  const auto is_sent_to = [&](QpNumber number) {
    return std::ranges::any_of(connections_, [&](const auto& connection) {
      const Side& a = connection->side(0);
      const Side& b = connection->side(1);
      return (a.number == number && b.node->number == peer) ||
             (b.number == number && a.node->number == peer);
    });
  };
  while (is_sent_to(endnodes_[node]->NextNumber())) endnodes_[node]->SkipNumber();
  const QpNumber number = endnodes_[node]->NextNumber();
  network_.Restore(number);
  return number;
}

void Simulator::Connect(uint32_t a, uint32_t b) {
  const uint32_t nodes[2] = {a, b};
  auto connection = std::make_unique<Connection>();
  connection->id = next_connection_++;
  connection->is_spared = swarm_.has_spared && connections_.empty();
  for (int i = 0; i < 2; ++i) {
    const QpNumber number = NextNumber(nodes[i], nodes[1 - i]);
    connection->sides[i] = std::make_unique<Side>(swarm_, *endnodes_[nodes[i]], random_);
    CHECK(connection->side(i).number == number);
  }
  Psn psns[2];
  for (Psn& psn : psns) {
    // Often just before the sequence numbers wrap.
    const uint32_t near_wrap = wire::kMax24 - static_cast<uint32_t>(random_.Below(64));
    psn = Psn(random_.Chance(1, 2) ? near_wrap : random_.Next32() & wire::kMax24);
    if (swarm_.fixed_psn) psn = Psn(0);
  }
  for (int i = 0; i < 2; ++i) {
    Side& side = connection->side(i);
    side.exposed->Store(uint64_t{swarm_.slots} * swarm_.slot_bytes,
                        std::vector<std::byte>(sizeof(uint64_t)));
    side.node->Connect(*side.qp, psns[i],
                       Endnode::Peer{connection->side(1 - i).number, nodes[1 - i], psns[1 - i]});
  }
  connections_.push_back(std::move(connection));
}

void Simulator::PostSome() {
  Connection& connection = *connections_[random_.Below(connections_.size())];
  const int from = random_.Chance(1, 2) ? 1 : 0;
  for (uint64_t i = random_.Below(4); i > 0; --i) {
    if (connection.side(from).qp && workload_.Post(connection, from, now())) ++result_.posted;
  }
}

void Simulator::OnAsyncEvent(Connection& connection, int at, const adapter::Event& event) {
  if (event.type == AsyncEventType::kSendQueueDrained) return OnDrained(connection.side(at));
  if (event.type != AsyncEventType::kQpAccessError &&
      event.type != AsyncEventType::kQpRequestError && event.type != AsyncEventType::kQpFatal) {
    return;
  }
  const bool is_allowed_error = connection.is_provoked || connection.is_attacked ||
                                swarm_.page_in_failure > 0 || connection.side(at).has_overflowed();
  if (!is_allowed_error) {
    findings_.Add("completions", "queue pair " + std::to_string(event.qp.value()) +
                                     " tells of an error that nothing allows, at " +
                                     verbena::ToString(now() - Time()));
  }
  connection.has_reason = true;
  connection.Break(now(), swarm_.ack_timeout);
}

// Once per drain; then its program resumes the queue.
void Simulator::OnDrained(Side& side) {
  if (!std::exchange(side.is_draining, false)) {
    return findings_.Add("completions",
                         "a send queue tells that it has drained, and was not asked to");
  }
  if (side.qp) side.node->Modify(*side.qp, QpState::kRts);
}

void Simulator::Deliver() {
  while (std::optional<Event> event = network_.Take(now())) {
    Endnode& node = *endnodes_[event->to];
    if (event->job) {
      node.pager.Arrive(*event->job, node.core);
    } else {
      node.port->Arrive(std::move(*event));
    }
  }
}

void Simulator::PollAll() {
  CheckStates();
  ForEachSide([&](Connection& connection, int at) {
    if (connection.side(at).qp) workload_.PollReceives(connection, at, now());
  });
  ForEachSide([&](Connection& connection, int at) {
    Side& side = connection.side(at);
    if (!side.qp) return;
    workload_.PollSends(connection, at, now());
    // A late copy of a read whose key was invalidated is dropped, and the read may be such a copy.
    const bool may_time_out = connection.broken || connection.is_provoked ||
                              connection.is_severed || connection.is_attacked || swarm_.crash > 0;
    if (!may_time_out) side.faults.CheckTimeouts(side.qp->counters().timeouts, findings_);
  });
}

// All posted work ends, flushed if necessary, and nothing is left.
void Simulator::TakeDown(Connection& connection) {
  for (const auto& side : connection.sides) {
    side->send_cq.Neglect(Time());
    side->receive_cq.Neglect(Time());
    CheckOverflowed(*side);
  }
  PollAll();
  CheckBeforeTheEnd(connection);
  connection.Break(now(), Duration());
  for (int at = 0; at < 2; ++at) {
    if (!connection.side(at).qp) continue;
    connection.side(at).node->Modify(*connection.side(at).qp, QpState::kErr);
    TakeEvents(*connection.side(at).node);
  }
  PollAll();
  for (int at = 0; at < 2; ++at) CheckEnded(connection, at);
  for (const auto& side : connection.sides) side->Release();
}

// A queue pair with a lost completion must stop, at once or after the responses to earlier
// requests, which may wait for pages.
void Simulator::CheckOverflowed(Side& side) {
  if (!side.qp || !side.has_overflowed()) return;
  if (side.qp->state() != QpState::kErr && !side.qp->ends_after_responses()) {
    findings_.Add("overflow", "a queue pair has lost a completion and goes on");
  }
}

void Simulator::CheckBeforeTheEnd(Connection& connection) {
  if (connection.is_attacked) return;
  if (connection.broken) {
    ++result_.broken;
    result_.severed += connection.is_severed ? 1 : 0;
    result_.unmapped += connection.has_lost_memory ? 1 : 0;
    if (!connection.has_reason) {
      findings_.Add("completions", "a connection has failed, and nothing tells why");
    }
    return;
  }
  for (const auto& side : connection.sides) {
    uint64_t word = 0;
    std::memcpy(&word, side->exposed->At(uint64_t{swarm_.slots} * swarm_.slot_bytes), sizeof word);
    if (word != side->model_word) findings_.Add("atomics", "the word is not what was put there");
    if (!side->inbound.empty()) findings_.Add("completions", "a message was never received");
  }
}

void Simulator::CheckEnded(Connection& connection, int at) {
  Side& side = connection.side(at);
  if (side.qp) {
    workload_.Drained(connection, at);
    const bool may_lack = side.receive_cq.overflowed();
    if (!side.own_pool.empty() && !may_lack) {
      findings_.Add("completions", "a receive request has not ended");
    }
    if (may_lack && side.node->shared) side.node->shared->Lost();
    for (const auto& message : side.inbound) {
      if (message->is_reported && !connection.is_attacked) {
        findings_.Add("completions", "a message succeeded, but was not received");
      }
    }
    side.send_cq.CheckEnd(findings_);
    side.receive_cq.CheckEnd(findings_);
  } else {
    // The program has died with its endnode: its posted operations were executed, or not.
    for (const auto& operation : side.sends.posted()) {
      if (operation->opcode != queue::SendOpcode::kFetchAndAdd) continue;
      Workload::BecameDoubtful(connection, at, *operation);
    }
  }
  side.local->shadow().Check(findings_);
  side.exposed->shadow().Check(findings_);
}

void Simulator::ReplaceBroken() {
  for (size_t i = 0; i < connections_.size() && findings_.empty();) {
    Connection& connection = *connections_[i];
    if (now() < connection.down_at) {
      ++i;
      continue;
    }
    TakeDown(connection);
    const bool is_replaced = connection.is_replaced;
    connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(i));
    if (is_replaced) continue;
    Connect();
    std::rotate(connections_.begin() + static_cast<std::ptrdiff_t>(i), connections_.end() - 1,
                connections_.end());
    ++i;
  }
}

bool Simulator::IsQuiet() const {
  const bool has_work =
      std::ranges::any_of(endnodes_, [](const auto& node) { return node->has_work(); });
  const bool are_quiet =
      std::ranges::all_of(programs_, [](const Program* program) { return program->IsQuiet(); });
  return !has_work && are_quiet && network_.next_time() == Time::Never() && unreliable_.IsQuiet() &&
         std::ranges::all_of(connections_, [](const auto& connection) {
           if (connection->broken) return false;
           return std::ranges::all_of(connection->sides, [](const auto& side) {
             return side->qp && side->send_queue().begin() == side->send_queue().end();
           });
         });
}

Time Simulator::NextTime() {
  Time next = std::min(network_.next_time(), unreliable_.next_time());
  for (auto& node : endnodes_) next = std::min(next, node->next_time());
  for (const auto& connection : connections_) next = std::min(next, connection->down_at);
  return next;
}

void Simulator::CheckAll() {
  unreliable_.Check();
  for (Program* const program : programs_) program->Check();
  for (auto& connection : connections_) {
    for (auto& side : connection->sides) {
      side->local->shadow().Check(findings_);
      side->exposed->shadow().Check(findings_);
      if (side->own_pool.guarded() != nullptr) side->own_pool.guarded()->shadow().Check(findings_);
      if (!side->qp) continue;
      if (!side->send_queue().IsConsistent() || !side->qp->receive_queue().IsConsistent()) {
        findings_.Add("leaks", "a work queue is not consistent");
      }
    }
  }
  for (auto& node : endnodes_) {
    if (node->shared) node->shared->pool().guarded()->shadow().Check(findings_);
    node->counters->shadow().Check(findings_);
    if (!node->core.IsConsistent()) findings_.Add("leaks", "the tables are not consistent");
  }
}

}  // namespace verbena::sim
