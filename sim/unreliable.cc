#include "sim/unreliable.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "sim/draw.h"
#include "wire/ipv4_header.h"

namespace verbena::sim {

using queue::CompletionStatus;
using transport::QpState;

void Unreliable::Populate(const std::vector<std::unique_ptr<Endnode>>& endnodes) {
  endnodes_ = &endnodes;
  for (uint32_t i = 0; i < swarm_.uc_connections; ++i) Connect();
  for (uint32_t i = 0; i < swarm_.ud_queue_pairs; ++i) AddDatagram();
}

wire::Psn Unreliable::SomePsn() {
  const uint32_t near_wrap = wire::kMax24 - static_cast<uint32_t>(random_.Below(64));
  return wire::Psn(random_.Chance(1, 2) ? near_wrap : random_.Next32() & wire::kMax24);
}

void Unreliable::Connect() {
  const uint64_t count = endnodes_->size();
  const uint64_t first = random_.Below(count);
  const uint64_t nodes[2] = {first, (first + 1 + random_.Below(count - 1)) % count};
  Station* ends[2];
  for (size_t i = 0; i < 2; ++i) {
    ends[i] = &AddStation(*(*endnodes_)[nodes[i]], transport::QpType::kUc);
  }
  const wire::Psn psns[2] = {SomePsn(), SomePsn()};
  for (size_t i = 0; i < 2; ++i) {
    ends[i]->Connect(psns[i], Endnode::Peer{ends[1 - i]->number,
                                            static_cast<uint32_t>(nodes[1 - i]), psns[1 - i]});
  }
}

void Unreliable::AddDatagram() {
  Endnode& node = *(*endnodes_)[random_.Below(endnodes_->size())];
  Station& station = AddStation(node, transport::QpType::kUd);
  station.Connect(SomePsn(), std::nullopt);
  JoinSome(station);
}

Station& Unreliable::AddStation(Endnode& node, transport::QpType type) {
  while (!numbers_.insert(node.NextNumber().value()).second) node.SkipNumber();
  stations_.push_back(std::make_unique<Station>(swarm_, node, type, random_));
  return *stations_.back();
}

Station* Unreliable::Find(wire::QpNumber number) const {
  for (const auto& station : stations_) {
    if (station->number == number) return station.get();
  }
  return nullptr;
}

void Unreliable::FillReceives(bool is_calm) {
  for (const auto& station : stations_) {
    const bool fills = is_calm || !random_.Chance(swarm_.dry, 1000);
    if (!fills || station->state() == QpState::kErr) continue;
    station->own_pool.Fill(random_, [&](const queue::ReceiveRequest& request) {
      return station->qp->receive_queue().Post(request).has_value();
    });
    station->node->Kick(*station->qp, /*polls=*/false);
    if (!station->qp->IsConsistent()) {
      findings_.Add("leaks", "an unreliable queue pair is not consistent");
    }
  }
}

bool Unreliable::OnEvent(const adapter::Event& event) {
  const Station* const station = Find(event.qp);
  if (station == nullptr) return false;
  const bool is_told = event.type == transport::AsyncEventType::kCommunicationEstablished;
  const bool is_excused =
      station->has_lost_memory || station->has_overflowed() || swarm_.page_in_failure > 0;
  if (!is_told && !is_excused) {
    findings_.Add("completions", "an unreliable queue pair tells of an error");
  }
  return true;
}

void Unreliable::OnCqError(const adapter::Cq* cq) {
  for (const auto& station : stations_) {
    for (ProgramCq* const own : {&station->send_cq, &station->receive_cq}) {
      if (own == cq) own->OnError(findings_);
    }
  }
}

void Unreliable::CheckOverflows(const Endnode& node) {
  for (const auto& station : stations_) {
    if (station->node != &node) continue;
    station->send_cq.CheckTold(findings_);
    station->receive_cq.CheckTold(findings_);
    if (station->has_overflowed() && station->state() != QpState::kErr) {
      findings_.Add("overflow", "an unreliable queue pair has lost a completion and goes on");
    }
  }
}

void Unreliable::Calm() {
  for (const auto& station : stations_) {
    station->send_cq.Neglect(Time());
    station->receive_cq.Neglect(Time());
  }
}

void Unreliable::Poll(Time now) {
  for (const auto& station : stations_) {
    const bool kept_before = std::exchange(station->was_keeping, station->has_held());
    if (station->was_keeping && !kept_before) ++kept_;
    if (!station->receive_cq.is_neglected(now)) PollReceives(*station);
  }
  for (const auto& station : stations_) {
    if (!station->send_cq.is_neglected(now)) PollSends(*station, now);
  }
  Settle(now);
  const auto failed = std::ranges::find_if(
      stations_, [](const auto& station) { return station->state() == QpState::kErr; });
  if (failed == stations_.end() || !findings_.empty()) return;
  const bool is_excused =
      (*failed)->has_lost_memory || (*failed)->has_overflowed() || swarm_.page_in_failure > 0;
  if (!is_excused) {
    findings_.Add("completions", "an unreliable queue pair has failed, and nothing tells why");
  }
  Replace(**failed, now);
}

void Unreliable::PollReceives(Station& station) {
  std::array<queue::Completion, 64> completions;
  const size_t count = station.receive_cq.Poll(completions).value_or(0);
  for (size_t i = 0; i < count; ++i) {
    const queue::Completion& completion = completions[i];
    const auto offset = station.OffsetOf(completion.id, findings_);
    if (!offset) return;
    const bool well = completion.status == CompletionStatus::kSuccess;
    if (well) {
      OnMessage(station, completion, *offset);
    } else if (station.state() != QpState::kErr) {
      findings_.Add("completions", std::string("an unreliable receive request ended with ") +
                                       queue::NameOf(completion.status));
    }
    station.receives().Finish(completion.id, well, findings_);
  }
}

void Unreliable::OnMessage(Station& station, const queue::Completion& completion, uint64_t offset) {
  const wire::QpNumber source(completion.source_qp.value());
  uint64_t header = 0;
  wire::Ipv4Address to = Network::AddressOf(swarm_, station.node->number);
  if (!station.is_connected()) {
    header = transport::kGrhSize;
    if (!completion.flags.has_grh || completion.byte_count < header) {
      return findings_.Add("messages", "a datagram without the header that goes before it");
    }
    const auto destination = ReadGrh(Find(source), station, offset);
    if (!destination) return;
    to = *destination;
  }
  MessagesOracle* const messages = OracleFor(station, source, to);
  const bool is_peer = !station.is_connected() || source == station.peer->number;
  if (messages == nullptr || !is_peer) {
    return findings_.Add("messages", "a message from a queue pair that has sent none");
  }
  std::optional<uint32_t> immediate;
  if (completion.flags.with_immediate) immediate = completion.immediate.value();
  const bool is_write = completion.opcode == queue::CompletionOpcode::kReceiveWithImmediate;
  const std::span<const std::byte> bytes(station.receives().plot()->At(offset + header),
                                         completion.byte_count - header);
  ++received_;
  const auto id = messages->Received(bytes, immediate, is_write, findings_);
  if (id && is_write) {
    station.exposed->shadow().Finish(*id, true, "an unreliable write", findings_);
  }
}

// IBA A17: of IPv4, the header is in the last 20 bytes. Whom the datagram was sent to.
std::optional<wire::Ipv4Address> Unreliable::ReadGrh(const Station* from, Station& to,
                                                     uint64_t offset) {
  constexpr size_t kHeader = wire::Ipv4Header::kSize;
  const std::span<const std::byte> grh(to.receives().plot()->At(offset), transport::kGrhSize);
  const auto header = wire::Ipv4Header::Parse(grh.last(kHeader));
  const bool is_empty = std::ranges::all_of(grh.first(transport::kGrhSize - kHeader),
                                            [](std::byte b) { return b == std::byte{0}; });
  const bool is_from = header && (from == nullptr ||
                                  header->source == Network::AddressOf(swarm_, from->node->number));
  if (is_empty && is_from) return header->destination;
  findings_.Add("messages", "the header before a datagram does not tell who sent it");
  return std::nullopt;
}

void Unreliable::PollSends(Station& station, Time now) {
  std::array<queue::Completion, 64> completions;
  const size_t count = station.send_cq.Poll(completions).value_or(0);
  const Excuses excuses{.is_broken = station.state() != QpState::kRts,
                        .pages_may_fail = swarm_.page_in_failure > 0,
                        .has_lost_memory = station.has_lost_memory};
  for (size_t i = 0; i < count; ++i) {
    station.sends.Completed(
        completions[i], excuses, findings_,
        [&](Operation& operation, bool well) { Ended(station, operation, well, now); });
  }
}

// A send completes when its bytes are not needed any more, which says nothing of the other side.
void Unreliable::Ended(Station& station, Operation& operation, bool well, Time now) {
  if (operation.local_slot) station.free_local.push_back(*operation.local_slot);
  if (!well) {
    std::erase_if(group_letters_, [&](const auto& sent) { return sent.letter.id == operation.id; });
  }
  const wire::QpNumber to(operation.to);
  Station* const peer = Find(to);
  if (peer == nullptr) return;
  if (!well && operation.is_awaited) peer->messages.at(station.number.value()).NotSent();
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
    Station* const station = Find(settled.to);
    if (station == nullptr) continue;
    if (station->has_held()) {
      settled.at = now + Microseconds(100);
      settling_.push_back(settled);
      continue;
    }
    station->exposed->shadow().Finish(settled.id,
                                      settled.must_be_there && !station->has_lost_memory,
                                      "an unreliable write", findings_);
    station->free_exposed.push_back(settled.slot);
  }
}

void Unreliable::Disturb(Time now) {
  if (stations_.empty()) return;
  if (swarm_.group_changes > 0) JoinOrLeave();
  Station& station = *stations_[random_.Below(stations_.size())];
  if (swarm_.neglect > 0 && random_.Chance(swarm_.neglect, 1000)) {
    ProgramCq& cq = random_.Chance(1, 2) ? station.send_cq : station.receive_cq;
    cq.Neglect(now + UpTo(random_, ProgramCq::kNeglectMax));
  }
  const std::vector<Plot*> plots = station.plots();
  Plot& plot = *plots[random_.Below(plots.size())];
  const uint64_t page = random_.Below(plot.pages());
  if (random_.Chance(swarm_.eviction, 1000)) plot.Evict(station.node->core, page);
  if (random_.Chance(swarm_.unmapping, 1000)) {
    plot.Vanish(page, 1);
    station.has_lost_memory = true;
  }
}

void Unreliable::Crashed(const Endnode& victim, Time now) {
  const auto lives_there = [&](const auto& station) { return station->node == &victim; };
  while (findings_.empty()) {
    const auto found = std::ranges::find_if(stations_, lives_there);
    if (found == stations_.end()) return;
    Replace(**found, now);
  }
}

// Both ends of a connection go, and another one comes.
void Unreliable::Replace(Station& station, Time now) {
  members_are_first_ = false;
  const std::optional<Endnode::Peer> peer = station.peer;
  const wire::QpNumber number = station.number;
  TakeDown(station, now);
  if (peer) TakeDown(*Find(peer->number), now);
  std::erase_if(stations_, [&](const auto& gone) {
    return gone->number == number || (peer && gone->number == peer->number);
  });
  peer ? Connect() : AddDatagram();
}

void Unreliable::TakeDown(Station& station, Time now) {
  station.node->Modify(*station.qp, QpState::kErr);
  while (station.receive_cq.size() > 0 && findings_.empty()) PollReceives(station);
  while (station.send_cq.size() > 0 && findings_.empty()) PollSends(station, now);
  const auto ended = [](Operation&, bool) {};
  station.send_cq.overflowed() ? station.sends.Lost(ended)
                               : station.sends.Drained(findings_, ended);
  const bool may_lack = station.receive_cq.overflowed();
  if (!station.own_pool.empty() && !may_lack) {
    findings_.Add("completions", "a receive request has not ended");
  }
  if (may_lack && station.shared != nullptr) station.shared->Lost();
  station.send_cq.CheckEnd(findings_);
  station.receive_cq.CheckEnd(findings_);
  station.Release();
}

bool Unreliable::IsQuiet() const {
  return settling_.empty() && std::ranges::all_of(stations_, [](const auto& station) {
           return station->qp->send_queue().begin() == station->qp->send_queue().end() &&
                  !station->has_held();
         });
}

Time Unreliable::next_time() const {
  return settling_.empty() ? Time::Never() : settling_.front().at;
}

void Unreliable::Check() {
  for (const auto& station : stations_) {
    for (Plot* const plot : station->plots()) plot->shadow().Check(findings_);
  }
}

// Where nothing is lost on the way, what did not arrive was dropped by its receiver, which counts.
void Unreliable::TakeDown(Time now) {
  Poll(now);
  Check();
  CheckGroupLetters();
  for (const auto& station : stations_) {
    uint64_t lost = 0;
    for (const auto& [from, messages] : station->messages) {
      if (Find(wire::QpNumber(from)) != nullptr) lost += messages.lost();
    }
    // What a group has brought to the endnode is not lost on the way, wherever it is bad.
    if (!nothing_is_lost()) lost = 0;
    lost += station->group_messages_lost();
    if (lost > station->dropped()) {
      findings_.Add("messages", std::to_string(lost) + " messages were lost, and " +
                                    std::to_string(station->dropped()) + " were counted");
    }
  }
  for (const auto& station : stations_) TakeDown(*station, now);
  stations_.clear();
}

}  // namespace verbena::sim
