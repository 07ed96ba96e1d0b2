#include "sim/simulator.h"

#include <algorithm>
#include <cstring>

#include "adapter/peer_check.h"
#include "base/check.h"
#include "memory/signal_guard.h"
#include "sim/oracle/leaks.h"
#include "transport/rc/fault_mark.h"
#include "transport/rc/responder_checks.h"
#include "transport/send_in_order.h"
#include "wire/roce/aeth.h"
#include "wire/roce/packet.h"
#include "wire/roce/reth.h"

namespace verbena::sim {
namespace {

constexpr uint64_t kTurnsMax = 200'000;
// Far above what all retries of all connections can take.
constexpr Duration kEndMax = Seconds(60);
constexpr uint64_t kChecksEvery = 64;  // turns

// A foreign requester does not know what the bit means in a response.
void HideMark(std::span<std::byte> packet) {
  wire::Bth bth = *wire::Bth::Parse(packet);
  bth.ack_request = false;
  bth.Serialize(packet);
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
      transmitter_(swarm, random_.Fork(), network_),
      workload_(swarm, random_.Fork(), findings_),
      unreliable_(swarm, random_.Fork(), transmitter_, findings_),
      attacker_(swarm, random_.Fork()) {
  for (uint32_t i = 0; i < swarm.endnodes; ++i) {
    endnodes_.push_back(std::make_unique<Endnode>(swarm, i, random_));
  }
  unreliable_.Populate(endnodes_);
}

Simulator::Result Simulator::RunAll() {
  while (connections_.size() < swarm_.connections) Connect();
  RunSafely();
  if (findings_.empty()) RunToTheEnd();
  for (auto& connection : connections_) {
    if (findings_.empty()) TakeDown(*connection);
  }
  if (findings_.empty()) unreliable_.TakeDown(now_);
  if (findings_.empty()) {
    connections_.clear();
    for (auto& node : endnodes_) {
      node->Close(findings_);
      CheckNothingIsLeft(node->core, findings_);
    }
    for (auto& node : crashed_) node->Close(findings_);
  }
  result_.failure = findings_.text();
  result_.packets = transmitter_.counters().packets;
  result_.faults = transmitter_.counters().page_requests;
  result_.digest = transmitter_.counters().digest;
  result_.segments_lost = transmitter_.counters().segments_lost;
  result_.paths_single = transmitter_.counters().paths_single;
  result_.messages = unreliable_.received();
  result_.succeeded = workload_.succeeded();
  result_.virtual_time = now_ - Time();
  return result_;
}

// The safety phase: until all is posted, or long enough.
void Simulator::RunSafely() {
  while (findings_.empty() && result_.posted < swarm_.operations && turns_ < kTurnsMax) {
    Disturb();
    PostSome();
    unreliable_.Post(now_);
    Turn();
    ReplaceBroken();
  }
}

// The liveness phase.
void Simulator::RunToTheEnd() {
  is_calm_ = true;
  network_.Heal();
  transmitter_.Calm();
  ForEachSide([&](Connection& connection, int at) {
    if (!connection.broken) workload_.SwapIn(connection, at);
  });
  const Time end = now_ + kEndMax;
  while (findings_.empty() && !IsQuiet()) {
    if (now_ >= end) return findings_.Add("liveness", "something is outstanding for ever");
    Turn();
    ReplaceBroken();
  }
  CheckAll();
}

void Simulator::Turn() {
  ++turns_;
  is_busy_ = false;
  ForEachSide([&](Connection& connection, int at) {
    Side& side = connection.side(at);
    if (is_calm_ || !random_.Chance(swarm_.dry, 1000)) {
      if (!connection.broken && side.qp) workload_.FillReceives(side);
    }
    Step(connection, at);
  });
  is_busy_ = unreliable_.Step(now_, is_calm_) || is_busy_;
  PollAll();
  unreliable_.Poll(now_);
  if (turns_ % kChecksEvery == 0) CheckAll();
  const Time soon = now_ + Nanoseconds(100);
  now_ = is_busy_ ? soon : std::max(soon, std::min(NextTime(), now_ + Microseconds(50)));
  Deliver();
}

void Simulator::Connect() {
  const auto a = static_cast<uint32_t>(random_.Below(endnodes_.size()));
  Connect(a, SomePeerOf(a));
}

uint32_t Simulator::SomePeerOf(uint32_t node) {
  const uint64_t count = endnodes_.size();
  return static_cast<uint32_t>((node + 1 + random_.Below(count - 1)) % count);
}

// Of a node that is to talk to `peer`. Where a queue pair of the peer still sends to a dead one of
// the node, that one's number is passed over: packets of reliable connections do not say which
// queue pair of an endpoint they are from. Outside the simulator the number is another one but for
// one time in four thousand (docs/security.md).
wire::QpNumber Simulator::NextNumber(uint32_t node, uint32_t peer) {
  const auto is_sent_to = [&](wire::QpNumber number) {
    return std::ranges::any_of(connections_, [&](const auto& connection) {
      const Side& a = connection->side(0);
      const Side& b = connection->side(1);
      return (a.number == number && b.node->number == peer) ||
             (b.number == number && a.node->number == peer);
    });
  };
  wire::QpNumber number = endnodes_[node]->NextNumber();
  while (is_sent_to(number)) number = endnodes_[node]->NextNumber();
  network_.Restore(number);
  return number;
}

void Simulator::Connect(uint32_t a, uint32_t b) {
  const wire::QpNumber numbers[2] = {NextNumber(a, b), NextNumber(b, a)};
  auto connection = std::make_unique<Connection>();
  connection->id = next_connection_++;
  connection->is_spared = swarm_.has_spared && connections_.empty();
  connection->sides[0] =
      std::make_unique<Side>(swarm_, *endnodes_[a], numbers[0], numbers[1], random_);
  connection->sides[1] =
      std::make_unique<Side>(swarm_, *endnodes_[b], numbers[1], numbers[0], random_);
  wire::Psn psns[2];
  for (wire::Psn& psn : psns) {
    // Often just before the sequence numbers wrap.
    const uint32_t near_wrap = wire::kMax24 - static_cast<uint32_t>(random_.Below(64));
    psn = wire::Psn(random_.Chance(1, 2) ? near_wrap : random_.Next32() & wire::kMax24);
    if (swarm_.fixed_psn) psn = wire::Psn(0);
  }
  for (int i = 0; i < 2; ++i) {
    Side& side = connection->side(i);
    side.exposed->Store(uint64_t{swarm_.slots} * swarm_.slot_bytes,
                        std::vector<std::byte>(sizeof(uint64_t)));
    side.qp->BecomeReadyToReceive(psns[1 - i]);
    side.qp->BecomeReadyToSend(psns[i]);
  }
  connections_.push_back(std::move(connection));
}

void Simulator::PostSome() {
  Connection& connection = *connections_[random_.Below(connections_.size())];
  const int from = random_.Chance(1, 2) ? 1 : 0;
  for (uint64_t i = random_.Below(4); i > 0; --i) {
    if (connection.side(from).qp && workload_.Post(connection, from, now_)) ++result_.posted;
  }
}

void Simulator::Step(Connection& connection, int at) {
  Side& side = connection.side(at);
  if (!side.qp) return;
  transport::Turn turn{now_, side.node->core, side.node->outbox};
  if (side.qp->next_time() <= now_) side.qp->OnTime(turn);
  is_busy_ = side.qp->Run(turn) || is_busy_;
  if (side.qp->state() == transport::QpState::kErr) connection.Break(now_, swarm_.ack_timeout);
  if (!side.qp->IsConsistent()) findings_.Add("leaks", "a queue pair is not consistent");
  Transmit(connection, at);
}

void Simulator::Transmit(Connection& connection, int at) {
  Side& side = connection.side(at);
  transport::Outbox& outbox = side.node->outbox;
  if (outbox.room() == 0) is_busy_ = true;
  transport::Turn turn{now_, side.node->core, outbox};
  transport::SendInOrder(
      outbox.packets(),
      [&](const transport::OutPacket& packet) { return SendPacket(connection, at, packet); },
      [&](const transport::OutPacket& packet, std::optional<memory::MachineAddress> gone) {
        if (gone) side.node->core.ForgetMachine(*gone, *gone);
        is_busy_ = true;
        return side.qp->TakeBack(packet, gone.has_value(), turn);
      });
  transmitter_.Flush(now_);
  const uint32_t to = connection.side(1 - at).node->number;
  for (const transport::SegmentReport& report : outbox.segment_reports()) {
    transmitter_.Learn(now_, side.node->number, to, report);
  }
  for (const transport::PageRequest& request : outbox.page_requests()) {
    transmitter_.RequestPages(now_, request);
  }
  for (const transport::AsyncEvent& event : outbox.events()) OnAsyncEvent(connection, event);
  outbox.Clear();
}

// The byte of it that is gone, if one is; then it is not sent.
std::optional<memory::MachineAddress> Simulator::SendPacket(Connection& connection, int at,
                                                            const transport::OutPacket& packet) {
  Side& side = connection.side(at);
  Side& peer = connection.side(1 - at);
  const auto bytes = transmitter_.Send(now_, side.node->number, peer.node->number, packet);
  if (!bytes) {
    if (!connection.has_lost_memory) findings_.Add("access", "bytes to be sent are not there");
    return bytes.error();
  }
  Overhear(side, *wire::Packet::Parse(*bytes));
  seen_to_ = peer.number;
  seen_from_ = side.node->number;
  seen_ = *bytes;
  return std::nullopt;
}

// What the oracles, and an eavesdropper, learn of a packet that a side sends.
void Simulator::Overhear(Side& side, const wire::Packet& packet) {
  const wire::Psn psn = packet.bth().psn;
  if (packet.info().operation == wire::Operation::kReadResponse) {
    side.node->access.Answers(side.number, psn, swarm_.path_mtu, packet.payload().size(),
                              findings_);
  }
  if (!packet.info().is_request) return;
  const bool is_read = packet.info().operation == wire::Operation::kReadRequest;
  const uint32_t count =
      is_read ? transport::PsnCountOf(packet.Get<wire::Reth>()->dma_length, swarm_.path_mtu) : 1;
  side.retries.Sent(psn, count);
  if (!side.next_psn || IsBefore(*side.next_psn, psn + count)) side.next_psn = psn + count;
}

// And of an answer that reaches one.
void Simulator::OverhearAnswer(Side& side, const wire::Packet& packet) {
  const wire::Psn psn = packet.bth().psn;
  const auto aeth = packet.Get<wire::Aeth>();
  if (!aeth || aeth->syndrome.is_ack()) return side.retries.Acknowledged(psn);
  if (aeth->syndrome.kind() != wire::Syndrome::Kind::kRnrNak) return;
  const bool is_fault = transport::IsMarkedFault(packet.bth());
  side.was_faulting |= is_fault;
  side.was_not_ready |= !is_fault;
  side.retries.NotReady(psn);
  if (is_fault && !swarm_.foreign) return;  // it costs no retry
  side.faults.NotReady(psn);
  side.faults.CheckRetries(false, findings_);
}

void Simulator::OnAsyncEvent(Connection& connection, const transport::AsyncEvent& event) {
  using transport::AsyncEventType;
  if (event.type != AsyncEventType::kQpAccessError &&
      event.type != AsyncEventType::kQpRequestError && event.type != AsyncEventType::kQpFatal) {
    return;
  }
  const bool is_excused =
      connection.is_provoked || connection.is_attacked || swarm_.page_in_failure > 0;
  if (!is_excused) {
    findings_.Add("completions", "queue pair " + std::to_string(event.qp.value()) +
                                     " tells of an error that nothing excuses, at " +
                                     verbena::ToString(now_ - Time()));
  }
  connection.has_cause = true;
  connection.Break(now_, swarm_.ack_timeout);
}

void Simulator::Deliver() {
  while (std::optional<Event> event = network_.Take(now_)) {
    if (unreliable_.Deliver(*event, now_)) continue;
    ForEachSide([&](Connection& connection, int at) {
      if (connection.side(at).number != event->qp || !connection.side(at).qp) return;
      if (event->request) {
        AnswerFault(connection, at, *event);
      } else {
        DeliverPacket(connection, at, *event);
      }
    });
  }
}

void Simulator::DeliverPacket(Connection& connection, int at, const Event& event) {
  Side& side = connection.side(at);
  const Side& peer = connection.side(1 - at);
  const auto packet = wire::Packet::Parse(event.packet);
  if (!packet) return;
  const auto expected = Network::OriginOf(swarm_, peer.node->number, side.node->number);
  const adapter::Peer identity{expected.source, expected.destination,
                               adapter::PortMap{}.SourcePortOf(peer.number)};
  const auto origin = Network::OriginOf(swarm_, event.from, side.node->number);
  if (adapter::CheckPeer(identity, origin)) {
    ++result_.stale;
    return;
  }
  if (packet->info().is_response) OverhearAnswer(side, *packet);
  if (packet->info().operation == wire::Operation::kReadRequest && !event.is_forged) {
    const wire::Reth reth = *packet->Get<wire::Reth>();
    side.node->access.Asked(side.number, packet->bth().psn,
                            transport::PsnCountOf(reth.dma_length, swarm_.path_mtu), reth);
  }
  transport::Turn turn{now_, side.node->core, side.node->outbox};
  turn.segments_in_doubt = transmitter_.segments_in_doubt();
  std::vector<std::byte> seen = event.packet;
  if (swarm_.foreign && packet->info().is_response) HideMark(seen);
  side.qp->OnPacket(*wire::Packet::Parse(seen), turn);
  Transmit(connection, at);
}

void Simulator::AnswerFault(Connection& connection, int at, const Event& event) {
  Side& side = connection.side(at);
  const bool available =
      event.available && side.node->pager.BringIn(event.request->fault, side.node->core);
  transport::Turn turn{now_, side.node->core, side.node->outbox};
  side.qp->OnPagesReady(event.request->ticket, available, turn);
  Transmit(connection, at);
}

void Simulator::PollAll() {
  ForEachSide([&](Connection& connection, int at) {
    if (connection.side(at).qp) workload_.PollReceives(connection, at, now_);
  });
  ForEachSide([&](Connection& connection, int at) {
    Side& side = connection.side(at);
    if (!side.qp) return;
    workload_.PollSends(connection, at, now_);
    // A late copy of a read whose key has ended is dropped, and the read may be such a copy.
    const bool may_time_out = connection.broken || connection.is_provoked ||
                              connection.is_severed || connection.is_attacked || swarm_.crash > 0;
    if (!may_time_out) side.faults.CheckTimeouts(side.qp->requester_counters(), findings_);
  });
}

// Everything that is posted ends, as flushed if need be, and nothing remains.
void Simulator::TakeDown(Connection& connection) {
  PollAll();
  CheckBeforeTheEnd(connection);
  connection.Break(now_, Duration());
  for (int at = 0; at < 2; ++at) {
    if (!connection.side(at).qp) continue;
    connection.side(at).qp->BecomeFailed();
    Step(connection, at);
  }
  PollAll();
  for (int at = 0; at < 2; ++at) CheckEnded(connection, at);
  for (const auto& side : connection.sides) side->Release();
}

void Simulator::CheckBeforeTheEnd(Connection& connection) {
  if (connection.is_attacked) return;
  if (connection.broken) {
    ++result_.broken;
    result_.severed += connection.is_severed ? 1 : 0;
    result_.bereft += connection.has_lost_memory ? 1 : 0;
    if (!connection.has_cause) {
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
    if (!side.own_pool.empty()) findings_.Add("completions", "a receive request has not ended");
  } else {
    // The program has died with its endnode: what it had posted was done, or not.
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
    if (now_ < connection.down_at) {
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
  return network_.next_time() == Time::Never() && unreliable_.IsQuiet() &&
         std::ranges::all_of(connections_, [](const auto& connection) {
           if (connection->broken) return false;
           return std::ranges::all_of(connection->sides, [](const auto& side) {
             return side->qp && side->send_queue.begin() == side->send_queue.end();
           });
         });
}

Time Simulator::NextTime() const {
  Time next = std::min(network_.next_time(), unreliable_.next_time());
  for (const auto& connection : connections_) {
    for (const auto& side : connection->sides) {
      if (side->qp) next = std::min(next, side->qp->next_time());
    }
    next = std::min(next, connection->down_at);
  }
  return next;
}

void Simulator::CheckAll() {
  unreliable_.Check();
  for (auto& connection : connections_) {
    for (auto& side : connection->sides) {
      side->local->shadow().Check(findings_);
      side->exposed->shadow().Check(findings_);
      if (side->own_pool.plot() != nullptr) side->own_pool.plot()->shadow().Check(findings_);
      if (!side->send_queue.IsConsistent() || !side->receive_queue.IsConsistent()) {
        findings_.Add("leaks", "a work queue is not consistent");
      }
    }
  }
  for (auto& node : endnodes_) {
    if (node->pool.plot() != nullptr) node->pool.plot()->shadow().Check(findings_);
    node->counters->shadow().Check(findings_);
    if (!node->core.IsConsistent()) findings_.Add("leaks", "the tables are not consistent");
  }
}

}  // namespace verbena::sim
