#include "fuzz/queue_pair/live_qp.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "sim/oracle/leaks.h"
#include "transport/common/responder_checks.h"
#include "wire/roce/atomic_eth.h"
#include "wire/roce/reth.h"

namespace verbena::fuzz {
namespace {

constexpr Access kLocal = Access::kLocalRead | Access::kLocalWrite;
constexpr SrqNumber kSrqNumber{7};
constexpr uint32_t kQueueDepth = 16;
// Far more passes than one event can cause.
constexpr int kPassesMax = 1'000;
constexpr size_t kJobsMax = 1'000;
// Checking the memory tables takes as long as all other checks together. Close checks them, too.
constexpr uint64_t kCoreChecksEvery = 16;

// Simulator options of a network without losses, delays or other faults.
sim::Swarm ChooseSwarm(Choices& choices) {
  sim::Swarm swarm;
  swarm.seed = 1;
  swarm.path_mtu = uint32_t{256} << choices.Below(3);
  swarm.depth = static_cast<uint32_t>(1 + choices.Below(4));
  swarm.retry_count = static_cast<uint32_t>(choices.Below(8));
  swarm.rnr_retry = static_cast<uint32_t>(choices.Below(8));
  swarm.page_in_max = Nanoseconds(1);
  swarm.key_slots_max = 64;  // every check of the tables visits all slots
  return swarm;
}

// Includes PSNs just before the wrap.
Psn ChoosePsn(Choices& choices) {
  return Psn(choices.OneOf<uint32_t>({0, 1, 0x7FFFFE, 0x800000, 0xFFFFFD, 0xFFFFFF}));
}

}  // namespace

LiveQp::LiveQp(Choices& choices, bool prints)
    : choices_(choices),
      prints_(prints),
      type_(choices.OneOf({QpType::kRc, QpType::kRc, QpType::kUc, QpType::kUd, QpType::kXrcSend,
                           QpType::kXrcReceive})),
      polls_(choices.Below(2) != 0),
      swarm_(ChooseSwarm(choices)),
      network_(swarm_, random_.Fork(), nullptr),
      node_({.swarm = swarm_,
             .clock = clock_,
             .network = network_,
             .tap = [this](const sim::Event& arrival) { OnArrived(arrival); }},
            0, random_) {
  clock_.now = Time(Seconds(1));
  network_.set_tap(
      [this](uint32_t, uint32_t, std::span<const std::byte> packet) { OnSent(packet); });
  first_psn_ = ChoosePsn(choices_);
  peer_psn_ = ChoosePsn(choices_);
  MakeMemory();
  MakeQp();
  for (uint64_t left = choices_.Below(5); left > 0; --left) PostReceive();
  for (uint64_t left = choices_.Below(7); left > 0; --left) PostSend();
  RunUntilIdle();
  Check();
}

void LiveQp::MakeMemory() {
  const Access remote = choices_.OneOf({Access::kRemote, Access::kRemoteRead, Access::kNone});
  local_ = node_.MakeGuardedMemory({.bytes = kGuardedBytes, .rights = kLocal}, random_);
  exposed_ = node_.MakeGuardedMemory(
      {.bytes = kGuardedBytes, .rights = kLocal | Access::kWindowBind | remote}, random_);
  peer_.targets = {{exposed_->keys().remote.value(), sim::GuardedMemory::kBase, kGuardedBytes},
                   {local_->keys().remote.value(), sim::GuardedMemory::kBase, kGuardedBytes}};
  if (remote == Access::kRemote) {
    region_grant_ = next_id_++;
    exposed_->Allow(region_grant_, 0, Bytes(kGuardedBytes), true);
  }
  for (uint64_t left = choices_.Below(3); left > 0; --left) {
    const auto type = choices_.OneOf({WindowType::k1, WindowType::k2A, WindowType::k2B});
    windows_.push_back({type, {.key = *node_.core.windows.Allocate(node_.pd, type)}});
  }
  for (uint64_t pages = choices_.Below(16), i = 0; i < 4; ++i) {
    if ((pages >> i & 1) != 0) (i < 2 ? local_ : exposed_)->Evict(node_.core, i % 2);
  }
}

void LiveQp::MakeQp() {
  const bool is_shared =
      type_ == QpType::kXrcReceive || (type_ != QpType::kXrcSend && choices_.Below(2) != 0);
  if (is_shared && srq_ == nullptr) {
    const bool is_extended = type_ == QpType::kXrcReceive;
    srq_ = std::make_unique<adapter::Srq>(
        kQueueDepth, kSges, node_.pd, node_.event_queue,
        is_extended ? adapter::XrcMembership{&domain_, &receive_cq_, kSrqNumber}
                    : adapter::XrcMembership{});
    if (is_extended) domain_.receivers.Add({kSrqNumber, srq_.get(), &receive_cq_, node_.pd});
  }
  const bool is_extended = type_ == QpType::kXrcReceive;
  qp_ = &node_.MakeQp(
      {.type = type_,
       .send_cq = is_extended ? &domain_.none : &send_cq_,
       .receive_cq = is_extended ? &domain_.none : &receive_cq_,
       .srq = is_shared && !is_extended ? srq_.get() : nullptr,
       .xrc_domain = is_extended ? &domain_ : nullptr,
       .send = {.capacity = kQueueDepth, .sges_max = kSges, .inline_max = 64, .pages_max = 2},
       .receive = {.capacity = kQueueDepth, .sges_max = kSges}});
  if (is_extended) domain_.connections.push_back(qp_);
  peer_.service = transport::ServiceOf(type_);
  peer_.number = adapter::MakeQpNumber(fabric::EndpointId(1), 5);
  peer_.to = qp_->number();
  peer_.q_key = sim::Endnode::kQKey;
  peer_.srq = kSrqNumber;
  peer_.path_mtu = swarm_.path_mtu;
  Connect();
}

void LiveQp::Connect() {
  peer_.next = peer_psn_;
  peer_.sent.clear();
  std::optional<sim::Endnode::Peer> peer;
  if (type_ != QpType::kUd) peer = {peer_.number, 1, peer_psn_};
  node_.Connect(*qp_, first_psn_, peer);
}

void LiveQp::Step() {
  using Event = void (LiveQp::*)();
  // Most events are packets.
  static constexpr Event kEvents[] = {
      &LiveQp::ReceivePacket, &LiveQp::ReceivePacket,  &LiveQp::ReceivePacket,
      &LiveQp::ReceivePacket, &LiveQp::ReceiveMessage, &LiveQp::ReceiveMessage,
      &LiveQp::ReceiveAnswer, &LiveQp::ReceiveAnswer,  &LiveQp::ReceiveAnswer,
      &LiveQp::RepeatPacket,  &LiveQp::ReceiveNoise,   &LiveQp::PostSend,
      &LiveQp::PostSend,      &LiveQp::PostReceive,    &LiveQp::PostReceive,
      &LiveQp::AdvanceTime,   &LiveQp::AnswerPages,    &LiveQp::AnswerPages,
      &LiveQp::TakePage,      &LiveQp::Modify,         &LiveQp::Replace,
      &LiveQp::ChangeWindow,  &LiveQp::Deregister,
  };
  (this->*kEvents[choices_.Below(std::size(kEvents))])();
  RunUntilIdle();
  Check();
}

void LiveQp::Print(const char* what) const {
  if (prints_) std::fprintf(stderr, "%s\n", what);
}

void LiveQp::ReceivePacket() { Deliver(peer_.MakePacket(choices_)); }

void LiveQp::ReceiveNoise() { Deliver(peer_.MakeNoise(choices_)); }

void LiveQp::RepeatPacket() { Deliver(last_packet_); }

void LiveQp::ReceiveMessage() { DeliverAll(peer_.MakeMessage(choices_)); }

void LiveQp::ReceiveAnswer() { DeliverAll(peer_.MakeAnswer(choices_)); }

// One packet may be lost or duplicated.
void LiveQp::DeliverAll(std::vector<Bytes> packets) {
  const uint64_t slip = choices_.Below(4 * packets.size() + 1);
  for (size_t i = 0; i < packets.size(); ++i) {
    if (slip == 4 * i + 1) continue;
    if (slip == 4 * i + 2) Deliver(packets[i]);
    Deliver(std::move(packets[i]));
  }
}

void LiveQp::Deliver(Bytes packet) {
  sim::Event event{.to = 0, .from = 1, .packet = std::move(packet)};
  sim::Network::Seal(swarm_, event);
  last_packet_ = event.packet;
  node_.port->Arrive(std::move(event));
}

void LiveQp::OnArrived(const sim::Event& arrival) {
  const auto packet = wire::Packet::Parse(arrival.packet);
  if (prints_) {
    std::fprintf(stderr, "-> %s\n", packet ? ToString(*packet).c_str() : "no packet");
  }
  if (!packet) return;
  if (const auto atomic = packet->Get<wire::AtomicEth>()) Name(atomic->address.value(), 8);
  if (const auto named = packet->Get<wire::Reth>()) {
    Name(named->address.value(), named->dma_length);
  }
  if (packet->info().operation != wire::Operation::kReadRequest) return;
  const wire::Reth reth = *packet->Get<wire::Reth>();
  node_.access.Asked(qp_->number(), packet->bth().psn,
                     transport::PsnCountOf(reth.dma_length, swarm_.path_mtu), reth);
}

void LiveQp::Name(uint64_t address, uint64_t length) {
  const uint64_t offset = address - sim::GuardedMemory::kBase;
  if (offset < kGuardedBytes) named_.push_back({offset, length});
}

// A change needs more than a valid key: a request must have named the bytes.
void LiveQp::CheckNamed() {
  // The guarded memory starts after an unmapped page.
  const auto before = exposed_->shadow().Expected(sim::kPage, kGuardedBytes);
  const std::span<const std::byte> now(exposed_->At(0), kGuardedBytes);
  if (std::memcmp(before.data(), now.data(), kGuardedBytes) == 0) return;
  for (uint64_t at = 0; at < kGuardedBytes; ++at) {
    const auto is_named = [&](const Range& range) { return at - range.offset < range.length; };
    if (before[at] == now[at] || std::ranges::any_of(named_, is_named)) continue;
    return findings_.Add("access", "a byte changed that no request has named, at offset " +
                                       std::to_string(at) + " of the guarded memory");
  }
}

void LiveQp::OnSent(std::span<const std::byte> bytes) {
  const auto packet = wire::Packet::Parse(bytes);
  CHECK(packet.has_value());
  if (prints_) std::fprintf(stderr, "<- %s\n", ToString(*packet).c_str());
  const wire::OpcodeInfo& info = packet->info();
  const uint32_t path_mtu = type_ == QpType::kUd ? 4'096 : swarm_.path_mtu;
  if (info.service != peer_.service || !PayloadFits(info, packet->payload().size(), path_mtu)) {
    findings_.Add("packets",
                  "sent a packet that is wrong for the service or the path: " + ToString(*packet));
  }
  if (info.operation == wire::Operation::kReadResponse) {
    node_.access.Answers(qp_->number(), packet->bth().psn, swarm_.path_mtu,
                         packet->payload().size(), findings_);
  }
  peer_.OnPacket(*packet);
}

void LiveQp::AdvanceTime() {
  const Time next = node_.next_time();
  switch (choices_.Below(4)) {
    case 0:
      if (next != Time::Never()) clock_.now = std::max(clock_.now, next);
      break;
    case 1:
      clock_.now = clock_.now + Microseconds(10);
      break;
    case 2:
      clock_.now = clock_.now + Milliseconds(5);
      break;
    default:
      clock_.now = clock_.now + Seconds(5);
      break;
  }
  Print("time passes");
}

// Answers page requests in random order; some page-ins fail.
void LiveQp::AnswerPages() {
  if (jobs_.empty()) return;
  const auto job = jobs_.begin() + static_cast<std::ptrdiff_t>(choices_.Below(jobs_.size()));
  const bool fails = Rarely(choices_, 8);
  Print(fails ? "pages fail" : "pages come");
  if (fails) {
    node_.pager.answers().Finish(*job);
  } else {
    node_.pager.Arrive(*job, node_.core);
  }
  jobs_.erase(job);
}

void LiveQp::TakePage() {
  const uint64_t which = choices_.Below(4);
  Print("a page goes");
  (which < 2 ? local_ : exposed_)->Evict(node_.core, which % 2);
}

void LiveQp::Modify() {
  const QpState to = choices_.OneOf({QpState::kRts, QpState::kSqd, QpState::kErr, QpState::kReset});
  Print(NameOf(to));
  node_.Modify(*qp_, to);
  PollAll();
  if (qp_->state() == QpState::kRts) sends_.Resumed();
  if (to != QpState::kReset) return;
  ClearWork();
  Connect();
}

// Replaces the queue pair; packets of its peer may still be addressed to the old one.
void LiveQp::Replace() {
  Print("destroyed, and another one is made");
  std::erase(domain_.connections, qp_);
  node_.RemoveQp(*qp_);
  PollAll();
  ClearWork();
  const QpNumber old = peer_.to;
  MakeQp();
  if (choices_.Below(2) != 0) peer_.to = old;
}

void LiveQp::ChangeWindow() {
  if (windows_.empty()) return;
  Window& window = windows_[choices_.Below(windows_.size())];
  const bool is_work = std::ranges::any_of(
      key_work_, [&](const auto& work) { return &windows_[work.second.window] == &window; });
  if (is_work) return;
  if (window.now.grant != 0 && window.type != WindowType::k1) {
    Print("a window is invalidated");
    if (node_.core.Invalidate(window.now.key, memory::Origin::kLocal, who())) End(window.now);
    return;
  }
  Binding next = ChooseBinding(window);
  const auto bound =
      node_.core.windows.Bind(window.now.key,
                              {.region = exposed_->keys().local,
                               .start = KeyAddress(sim::GuardedMemory::kBase + next.offset),
                               .length = next.length,
                               .rights = next.rights,
                               .variant = next.key.variant()},
                              who());
  Print(bound ? "a window is bound" : "a window is not bound");
  if (!bound) return;
  End(window.now);
  next.key = *bound;
  Grant(next);
  window.now = next;
}

// Fails while windows are bound to the region.
void LiveQp::Deregister() {
  if (!exposed_->is_registered() || !node_.Deregister(*exposed_)) return;
  Print("deregistered");
  exposed_->shadow().Close();
}

void LiveQp::RunUntilIdle() {
  int passes = 0;
  do {
    node_.Pass(polls_ ? &send_cq_ : nullptr);
    while (auto event = network_.Take(clock_.now + Seconds(1))) {
      if (event->job) jobs_.push_back(*event->job);
    }
    PollAll();
    if (++passes > kPassesMax) return findings_.Add("idle", "the engine does not become idle");
  } while (node_.has_work());
  if (jobs_.size() > kJobsMax) findings_.Add("idle", "the number of page requests keeps growing");
}

void LiveQp::Check() {
  CheckNamed();
  for (sim::GuardedMemory* const guarded : {local_.get(), exposed_.get(), node_.counters.get()}) {
    guarded->shadow().Settle();
    guarded->shadow().Check(findings_);
  }
  const bool is_consistent = qp_->IsConsistent() &&
                             (++checks_ % kCoreChecksEvery != 0 || node_.core.IsConsistent()) &&
                             send_cq_.IsConsistent() && receive_cq_.IsConsistent() &&
                             (srq_ == nullptr || srq_->IsConsistent());
  if (!is_consistent) findings_.Add("consistency", "an IsConsistent() check failed");
  if (send_cq_.overflowed() || receive_cq_.overflowed()) {
    findings_.Add("completions", "more completions than requests");
  }
}

void LiveQp::Close() {
  std::erase(domain_.connections, qp_);
  node_.RemoveQp(*qp_);
  PollAll();
  ClearWork();
  for (Window& window : windows_) {
    const auto is_gone = [&](Key key) { return node_.core.windows.Deallocate(key).has_value(); };
    if (!is_gone(window.now.key) && std::ranges::none_of(window.others, is_gone)) {
      findings_.Add("leaks", "a window is not found by its key");
    }
  }
  node_.Release(*local_);
  node_.Release(*exposed_);
  node_.Close(findings_);
  sim::CheckNothingIsLeft(node_.core, findings_);
}

}  // namespace verbena::fuzz
