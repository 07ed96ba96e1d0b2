#include "adapter/objects/queue_pair.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "adapter/objects/iwarp_stream.h"
#include "adapter/objects/peer_check.h"
#include "base/check.h"
#include "base/rollback.h"
#include "transport/common/packet_origin.h"
#include "wire/roce/deth.h"

namespace verbena::adapter {
namespace {

using transport::AttributeMask;
using transport::QpAttribute;
using transport::QpSettings;

// What `fn` returns for the machine, or `reset` if there is none.
template <class Machine, class T, class Fn>
T Ask(Machine& machine, T reset, Fn fn) {
  return std::visit(
      [&](auto& of_a_type) -> T {
        if constexpr (std::is_same_v<std::decay_t<decltype(of_a_type)>, std::monostate>) {
          return reset;
        } else {
          return fn(of_a_type);
        }
      },
      machine);
}

// Calls `fn` with the machine, if there is one.
template <class Machine, class Fn>
void WithMachine(Machine& machine, Fn fn) {
  Ask(machine, false, [&](auto& of_a_type) {
    fn(of_a_type);
    return true;
  });
}

template <class T>
inline constexpr bool kIsUd = std::is_same_v<std::decay_t<T>, transport::UdQp>;
// The connection manager alone connects it.
template <class T>
inline constexpr bool kIsIwarp = std::is_same_v<std::decay_t<T>, transport::IwarpQp> ||
                                 std::is_same_v<std::decay_t<T>, transport::StreamQp>;

// IBA 10.9.3: the partition matches if the low 15 bits are equal, and at least one of the two is a
// full member.
bool IsSamePartition(wire::PKey a, wire::PKey b) {
  constexpr uint16_t kFullMember = 0x8000;
  return ((a.value() ^ b.value()) & ~kFullMember) == 0 &&
         ((a.value() | b.value()) & kFullMember) != 0;
}

// Copies the values of `mask`.
void Merge(const QpSettings& from, AttributeMask mask, QpSettings& to) {
  const auto take = [&](QpAttribute attribute, auto member) {
    if (mask.Has(attribute)) to.*member = from.*member;
  };
  take(QpAttribute::kSqdNotify, &QpSettings::sqd_notify);
  take(QpAttribute::kAccess, &QpSettings::access);
  take(QpAttribute::kPKeyIndex, &QpSettings::p_key_index);
  take(QpAttribute::kPort, &QpSettings::port);
  take(QpAttribute::kQKey, &QpSettings::q_key);
  take(QpAttribute::kPath, &QpSettings::path);
  take(QpAttribute::kPath, &QpSettings::peer_is_here);
  take(QpAttribute::kPathMtu, &QpSettings::path_mtu);
  take(QpAttribute::kTimeout, &QpSettings::timeout);
  take(QpAttribute::kRetryCount, &QpSettings::retry_count);
  take(QpAttribute::kRnrRetry, &QpSettings::rnr_retry);
  take(QpAttribute::kRqPsn, &QpSettings::rq_psn);
  take(QpAttribute::kMaxRdAtomic, &QpSettings::max_rd_atomic);
  take(QpAttribute::kMinRnrTimer, &QpSettings::min_rnr_timer);
  take(QpAttribute::kSqPsn, &QpSettings::sq_psn);
  take(QpAttribute::kMaxDestRdAtomic, &QpSettings::max_dest_rd_atomic);
  take(QpAttribute::kRemoteQp, &QpSettings::remote_qp);
}

}  // namespace

QueuePair::QueuePair(QpNumber number, const QpInit& spec, const QpContext& context)
    : number_(number),
      spec_(spec),
      context_(context),
      send_queue_(has_send_queue() ? spec.send : queue::WorkQueueLimits{}),
      receive_queue_(has_receive_queue() ? spec.receive : queue::WorkQueueLimits{}),
      prefetcher_(number, spec.pd, has_receive_queue() ? spec.receive.capacity : 0) {}

QpState QueuePair::state() const {
  return Ask(machine_, QpState::kReset, [](const auto& machine) { return machine.state(); });
}

bool QueuePair::is_draining() const {
  return Ask(machine_, false, [](const auto& machine) { return machine.is_draining(); });
}

transport::ReceiveSource QueuePair::Source() {
  if (is_extended()) return {};
  return spec_.srq != nullptr
             ? transport::ReceiveSource(*spec_.srq, spec_.srq->pd(), spec_.srq->tags())
             : transport::ReceiveSource(receive_queue_);
}

transport::RcConfig QueuePair::MakeRcConfig() const {
  const QpSettings& a = attributes_;
  return {.type = spec_.type,
          .local_qp = number_,
          .remote_qp = a.remote_qp,
          .path = a.path,
          .peer_is_here = a.peer_is_here,
          .path_mtu = BytesOf(a.path_mtu),
          .who = who(),
          .ack_timeout = DurationOf(a.timeout),
          .retry_count = a.retry_count.value(),
          .rnr_retry = a.rnr_retry.value(),
          .max_rd_atomic = a.max_rd_atomic.value(),
          .registration = spec_.registration,
          .min_rnr_timer = a.min_rnr_timer,
          .max_dest_rd_atomic = a.max_dest_rd_atomic.value(),
          .remote_rights = a.access,
          .page_service_estimate = context_.page_service_estimate};
}

transport::UcConfig QueuePair::MakeUcConfig() const {
  return {.local_qp = number_,
          .remote_qp = attributes_.remote_qp,
          .path = attributes_.path,
          .path_mtu = BytesOf(attributes_.path_mtu),
          .who = who(),
          .remote_rights = attributes_.access,
          .registration = spec_.registration};
}

transport::UdConfig QueuePair::MakeUdConfig() const {
  return {.local_qp = number_,
          .q_key = attributes_.q_key,
          .path_mtu = context_.port_mtu,
          .who = who(),
          .handles = context_.handles,
          .registration = spec_.registration};
}

transport::IwarpConfig QueuePair::MakeIwarpConfig() const {
  const auto* const machine = std::get_if<transport::IwarpQp>(&machine_);
  return {.local_qp = number_,
          .who = who(),
          .registration = spec_.registration,
          .max_rd_atomic = attributes_.max_rd_atomic.value(),
          .max_dest_rd_atomic = attributes_.max_dest_rd_atomic.value(),
          .remote_rights = attributes_.access,
          .stream = machine != nullptr ? machine->config().stream : transport::StreamConfig{}};
}

transport::StreamQpConfig QueuePair::MakeStreamConfig() const {
  return {.local_qp = number_, .who = who(), .registration = spec_.registration};
}

void QueuePair::MakeReliable() {
  if (spec_.type == QpType::kXrcReceive) {
    machine_.emplace<transport::RcQp>(MakeRcConfig(), send_queue_, *spec_.send_cq,
                                      spec_.xrc_domain->receivers);
  } else {
    machine_.emplace<transport::RcQp>(MakeRcConfig(), send_queue_, Source(), *spec_.send_cq,
                                      *spec_.receive_cq);
  }
}

void QueuePair::MakeMachine() {
  queue::CompletionQueue& send_cq = *spec_.send_cq;
  queue::CompletionQueue& receive_cq = *spec_.receive_cq;
  if (is_plain_stream()) {
    machine_.emplace<transport::StreamQp>(MakeStreamConfig(), send_queue_, Source(), send_cq,
                                          receive_cq);
  } else if (is_iwarp()) {
    machine_.emplace<transport::IwarpQp>(MakeIwarpConfig(), send_queue_, Source(), send_cq,
                                         receive_cq);
  } else if (!is_unreliable()) {
    MakeReliable();
  } else if (spec_.type == QpType::kUc) {
    machine_.emplace<transport::UcQp>(MakeUcConfig(), send_queue_, Source(), send_cq, receive_cq);
  } else {
    CHECK(spec_.type == QpType::kUd);
    machine_.emplace<transport::UdQp>(MakeUdConfig(), send_queue_, Source(), send_cq, receive_cq);
  }
}

ErrorOr<void> QueuePair::CheckModify(const QpSettings& attributes, AttributeMask mask) const {
  const QpState from = state();
  const QpState to = mask.Has(QpAttribute::kState) ? attributes.state : from;
  const auto fail = [](std::string text) {
    return Fail(Error{ErrorCode::kInvalid, std::move(text)});
  };
  if (mask.Has(QpAttribute::kCurrentState) && attributes.current_state != from) {
    return fail(std::string("the state is ") + NameOf(from) + ", not " +
                NameOf(attributes.current_state));
  }
  if (is_iwarp() && to != from && (to == QpState::kRtr || from == QpState::kInit) &&
      to != QpState::kReset && to != QpState::kErr) {
    return fail("an iWARP queue pair gets ready to send by the connection manager (CmId)");
  }
  if (const auto wrong = transport::CheckTransition(spec_.type, from, to, mask))
    return fail(ToString(*wrong));
  if (const auto wrong = Validate(attributes, mask, context_.limits)) {
    return fail(ToString(*wrong));
  }
  return {};
}

void QueuePair::Modify(const QpSettings& attributes, AttributeMask mask) {
  const QpState from = state();
  const QpState to = mask.Has(QpAttribute::kState) ? attributes.state : from;
  const QpSettings before = attributes_;
  Rollback merged([&] {
    attributes_ = before;
    from == QpState::kReset ? void(machine_.emplace<std::monostate>()) : Configure();
  });
  Merge(attributes, mask, attributes_);
  if (mask.Has(QpAttribute::kRemoteQp)) {
    peer_port_ = context_.ports.SourcePortOf(attributes_.remote_qp);
  }
  if (to == QpState::kReset) {
    machine_.emplace<std::monostate>();
    attributes_ = {};
    peer_port_ = 0;
  } else {
    from == QpState::kReset ? MakeMachine() : Configure();
    Become(from, to);
  }
  merged.Keep();
  ShowState();
}

void QueuePair::Become(QpState from, QpState to) {
  WithMachine(machine_, [&](auto& machine) {
    if (to == QpState::kErr) return machine.BecomeFailed();
    if constexpr (!kIsIwarp<decltype(machine)>) {
      if (from == QpState::kRtr && to == QpState::kRts) {
        return machine.BecomeReadyToSend(attributes_.sq_psn);
      }
      if (from == QpState::kInit && to == QpState::kRtr) {
        if constexpr (kIsUd<decltype(machine)>) {
          return machine.BecomeReadyToReceive();
        } else {
          return machine.BecomeReadyToReceive(attributes_.rq_psn);
        }
      }
    }
    if (from != QpState::kRts && to == QpState::kRts) {
      machine.ResumeSends();
    } else if (from == QpState::kRts && to == QpState::kSqd) {
      machine.Drain(attributes_.sqd_notify);
    }
  });
}

void QueuePair::Configure() {
  if (auto* const rc = std::get_if<transport::RcQp>(&machine_)) rc->Configure(MakeRcConfig());
  if (auto* const uc = std::get_if<transport::UcQp>(&machine_)) uc->Configure(MakeUcConfig());
  if (auto* const ud = std::get_if<transport::UdQp>(&machine_)) ud->Configure(MakeUdConfig());
  if (auto* const plain = this->plain()) {
    plain->Configure(MakeStreamConfig());
  } else if (is_iwarp()) {
    iwarp().Configure(MakeIwarpConfig());
  }
}

void QueuePair::AttachStream(IwarpStream& stream, const transport::MpaAgreement& agreement) {
  CHECK(stream_ == nullptr);
  const auto depth = [&](uint16_t agreed, transport::RdAtomicDepth max) {
    return transport::RdAtomicDepth(static_cast<uint8_t>(std::min<uint16_t>(agreed, max.value())));
  };
  attributes_.max_rd_atomic = depth(agreement.ord, context_.limits.max_rd_atomic_max);
  attributes_.max_dest_rd_atomic = depth(agreement.ird, context_.limits.max_dest_rd_atomic_max);
  transport::IwarpConfig config = MakeIwarpConfig();
  config.stream = agreement.stream;
  iwarp().Configure(config);
  iwarp().Connect(stream.out());
  stream_ = &stream;
  ShowState();
}

void QueuePair::AttachPlainStream(IwarpStream& stream) {
  CHECK(stream_ == nullptr);
  plain()->Connect(stream.out());
  stream_ = &stream;
  ShowState();
}

void QueuePair::DetachStream() {
  stream_ = nullptr;
  OfStream([](auto& machine) { machine.Disconnect(); });
}

void QueuePair::SendReadyToReceive() {
  iwarp().SendReadyToReceive(transport::IwarpQp::Rtr::kWrite);
}

void QueuePair::OnStreamEnd() {
  OfStream([](auto& machine) { machine.OnStreamEnd(); });
  ShowState();
}

void QueuePair::OnPeerEnd(bool is_broken) {
  is_plain_stream() && !is_broken ? plain()->OnPeerEnd() : OnStreamEnd();
}

bool QueuePair::ShowState() {
  const QpState now = state();
  if (seen_state_.load(std::memory_order_relaxed) == now) return false;
  // A poster publishes its request and then reads the state; this function stores the state, and
  // the run after it reads the requests. So either the poster sees the new state, or that run sees
  // the request.
  seen_state_.store(now);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return true;
}

std::optional<Drop> QueuePair::Refuses(const wire::Packet& packet,
                                       const transport::PacketOrigin& origin) const {
  if (packet.info().service != transport::ServiceOf(spec_.type)) return Drop::kWrongService;
  if (!IsSamePartition(packet.bth().p_key, wire::kDefaultPKey)) return Drop::kWrongPKey;
  if (spec_.type == QpType::kUd) return CheckSender(packet, origin);
  // Before it is connected, its state accepts no packets.
  if (!path_) return std::nullopt;
  return CheckPeer({path_->destination, path_->source, peer_port_}, origin);
}

// Of a datagram: the sender must be at the endpoint of the queue pair number that it names.
std::optional<Drop> QueuePair::CheckSender(const wire::Packet& packet,
                                           const transport::PacketOrigin& origin) const {
  const auto deth = packet.Get<wire::Deth>();
  if (!deth) return std::nullopt;  // a service without DETH; the machine drops the packet
  const uint16_t port = context_.ports.SourcePortOf(deth->source_qp);
  if (port != 0 && origin.source_port != port) return Drop::kWrongPort;
  return std::nullopt;
}

void QueuePair::OnPacket(const wire::Packet& packet, const transport::PacketOrigin& origin,
                         transport::Step& step) {
  WithMachine(machine_, [&](auto& machine) {
    if constexpr (kIsUd<decltype(machine)>) {
      machine.OnPacket(packet, origin, step);
    } else if constexpr (!kIsIwarp<decltype(machine)>) {
      machine.OnPacket(packet, step);
    }
  });
}

void QueuePair::OnPagesReady(transport::FaultTicket ticket, bool available, transport::Step& step) {
  WithMachine(machine_, [&](auto& machine) { machine.OnPagesReady(ticket, available, step); });
}

void QueuePair::OnTime(transport::Step& step) {
  WithMachine(machine_, [&](auto& machine) { machine.OnTime(step); });
}

Time QueuePair::next_time() const {
  return Ask(machine_, Time::Never(), [](const auto& machine) { return machine.next_time(); });
}

bool QueuePair::ends_after_responses() const {
  const auto* const rc = std::get_if<transport::RcQp>(&machine_);
  return rc != nullptr && rc->ends_after_responses();
}

bool QueuePair::has_held() const {
  const auto* const uc = std::get_if<transport::UcQp>(&machine_);
  return uc != nullptr && uc->has_held();
}

// A message to an unreliable queue pair that finds no buffer is not retransmitted, so its buffers
// are always prefetched.
void QueuePair::PrefetchReceives(transport::Step& step) {
  if (spec_.srq != nullptr) {
    prefetcher_.AtReceives(*spec_.srq, step);
  } else {
    prefetcher_.AtReceives(receive_queue_, step);
  }
}

template <class Reliable>
void QueuePair::PrefetchForReliable(Reliable& machine, transport::Step& step) {
  const bool had_fault = machine.TakeReceiveFault();
  if (Srq* const srq = static_cast<Srq*>(machine.shared_receives())) {
    if (had_fault) Prefetcher::BeginRound(*srq);
    if (srq->looks.left > 0) prefetcher_.AtReceives(*srq, step);
  } else {
    if (had_fault) prefetcher_.BeginRound(receive_queue_);
    if (prefetcher_.prefetches_receives()) prefetcher_.AtReceives(receive_queue_, step);
  }
  if (machine.first_unsent() < send_queue_.end()) {
    prefetcher_.AtSends(send_queue_, machine.first_unsent(), step);
  }
}

bool QueuePair::Run(transport::Step& step) {
  if (is_unreliable()) PrefetchReceives(step);
  const bool has_more = Ask(machine_, false, [&](auto& machine) { return machine.Run(step); });
  if (auto* const rc = std::get_if<transport::RcQp>(&machine_)) PrefetchForReliable(*rc, step);
  if (auto* const plain = this->plain()) {
    PrefetchForReliable(*plain, step);
  } else if (is_iwarp() && state() != QpState::kReset) {
    PrefetchForReliable(iwarp(), step);
  }
  return ShowState() || has_more;
}

void QueuePair::DropReceiver(const Srq& srq, transport::Step& step) {
  if (auto* const rc = std::get_if<transport::RcQp>(&machine_)) rc->DropReceiver(srq, step);
}

bool QueuePair::TakeBack(const transport::OutPacket& packet, bool is_loss, transport::Step& step) {
  if (auto* const rc = std::get_if<transport::RcQp>(&machine_)) {
    return rc->TakeBack(packet, is_loss, step);
  }
  if (auto* const uc = std::get_if<transport::UcQp>(&machine_)) uc->TakeBack(packet, is_loss);
  if (auto* const ud = std::get_if<transport::UdQp>(&machine_)) ud->TakeBack(packet, is_loss);
  return true;
}

void QueuePair::Empty(transport::Step& step) {
  if (std::holds_alternative<std::monostate>(machine_)) return;
  // A machine gives back what it holds when it flushes. The flushed completions are discarded, so
  // that they do not take room from other queue pairs of the same completion queues.
  const std::array cqs = {spec_.send_cq, spec_.receive_cq};
  for (Cq* const cq : cqs) cq->set_discards(true);
  WithMachine(machine_, [&](auto& machine) {
    machine.BecomeFailed();
    static_cast<void>(machine.Run(step));
  });
  for (Cq* const cq : cqs) {
    cq->set_discards(false);
    cq->RemoveQp(number_);
  }
}

QpCounters QueuePair::counters() const {
  QpCounters all = traffic;
  if (const auto* const rc = std::get_if<transport::RcQp>(&machine_)) {
    const auto& requester = rc->requester_counters();
    all.timeouts = requester.timeouts;
    all.sequence_naks = requester.sequence_naks;
    all.rnr_naks = requester.rnr_naks;
    all.lost_responses = requester.lost_responses;
    all.page_waits = requester.page_waits;
  } else if (const auto* const uc = std::get_if<transport::UcQp>(&machine_)) {
    const auto& responder = uc->responder_counters();
    all.dropped_out_of_sequence = responder.out_of_sequence;
    all.dropped_no_receive = responder.no_receive;
    all.dropped_pages_absent = responder.pages_absent;
    all.dropped_refused = responder.refused;
  } else if (const auto* const ud = std::get_if<transport::UdQp>(&machine_)) {
    const auto& dropped = ud->counters();
    all.dropped_no_receive = dropped.no_receive;
    all.dropped_pages_absent = dropped.pages_absent;
    all.dropped_refused = dropped.bad_q_key + dropped.bad_length + dropped.too_long;
  } else if (const auto* const iwarp = std::get_if<transport::IwarpQp>(&machine_)) {
    const transport::IwarpQp::Counters frames = iwarp->counters();
    all.packets_sent = frames.frames_sent;
    all.packets_received = frames.frames_received;
    all.page_waits = frames.page_waits;
  } else if (const auto* const plain = std::get_if<transport::StreamQp>(&machine_)) {
    all.page_waits = plain->page_waits();
  }
  return all;
}

bool QueuePair::IsConsistent() const {
  return Ask(machine_, true, [](const auto& machine) { return machine.IsConsistent(); });
}

}  // namespace verbena::adapter
