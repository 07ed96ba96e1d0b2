#include "adapter/cm/iwarp_cm.h"

#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "base/rollback.h"
#include "base/when_memory.h"
#include "transport/iwarp/stream_kind.h"

namespace verbena::adapter {
namespace {

// Reasons of IBA 12.6.7.2, which programs get for every transport.
constexpr uint16_t kNoListener = 8;
constexpr uint16_t kByConsumer = 28;

constexpr size_t kFrameMax = wire::MpaRequest::kSize + wire::MpaRequest::kPrivateDataMax;

uint8_t Depth(uint16_t depth) { return static_cast<uint8_t>(std::min<uint16_t>(depth, UINT8_MAX)); }

// What a request or reply says of the peer. False if the private data is longer than an event.
bool Describe(const transport::MpaFrameReader& frame, ConnectionParameters& peer) {
  const auto data = frame.private_data();
  if (data.size() > CmPrivateData::kMax) return false;
  std::ranges::copy(data, peer.private_data.bytes.begin());
  peer.private_data.size = static_cast<uint8_t>(data.size());
  // Without depths in the frame, each side uses its own.
  peer.responder_resources = peer.initiator_depth = UINT8_MAX;
  if (const auto enhanced = frame.enhanced()) {
    peer.responder_resources = Depth(enhanced->ird);
    peer.initiator_depth = Depth(enhanced->ord);
  }
  return true;
}

}  // namespace

IwarpCm::~IwarpCm() {
  for (const auto& [id, stream] : streams_) {
    if (stream->qp != nullptr) stream->qp->DetachStream();
  }
}

IwarpStream* IwarpCm::Find(StreamId id) const {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : found->second.get();
}

IwarpStream& IwarpCm::AddStream(IwarpSocket socket, StreamPhase phase) {
  const StreamId id(++last_id_);
  auto stream = std::make_unique<IwarpStream>(id, std::move(socket), phase);
  return *streams_.emplace(id, std::move(stream)).first->second;
}

void IwarpCm::SetDeadline(IwarpStream& stream, Time deadline) {
  deadlines_.erase({stream.deadline, stream.id});
  stream.deadline = deadline;
  if (deadline != Time::Never()) deadlines_.emplace(deadline, stream.id);
}

void IwarpCm::UpdateInterest(IwarpStream& stream) {
  const bool awaits_program =
      stream.phase == StreamPhase::kRequested || stream.phase == StreamPhase::kReplied;
  const bool has_room = stream.phase != StreamPhase::kOpen || stream.has_room();
  const bool is_connecting = stream.phase == StreamPhase::kConnecting;
  const fabric::Interest wanted{
      .reads = !is_connecting && !awaits_program && has_room && !stream.peer_has_closed(),
      .writes = is_connecting || (stream.has_unsent() && stream.is_blocked())};
  if (files_.Watch(stream.socket(), stream.id, stream.watched, wanted)) {
    stream.watched = wanted;
  }
}

void IwarpCm::SetHot(std::span<const StreamId> ready) {
  hot_ = ready.front();
  hot_passes_ = ready.size() == 1 ? kHotPasses : 0;
}

IwarpStream* IwarpCm::TakeHotPass() {
  if (hot_passes_ == 0) return nullptr;
  --hot_passes_;
  if (++passes_ % kPassesPerLook == 0) return nullptr;
  IwarpStream* const stream = Find(hot_);
  // One that is blocked waits for more than bytes.
  const bool is_read = stream != nullptr && stream->phase == StreamPhase::kOpen &&
                       stream->watched == fabric::Interest{.reads = true};
  if (!is_read) hot_passes_ = 0;
  return is_read ? stream : nullptr;
}

// --- The set-up of streams. ---

void IwarpCm::MakeRoomForHandshake() {
  if (handshakes_.size() < options_.handshakes_max) return;
  ++counters_.refused_full;
  Erase(*Find(*handshakes_.begin()));
}

void IwarpCm::AcceptFrom(StreamId listener, Time now) {
  constexpr int kAtOnce = 16;
  for (int i = 0; i < kAtOnce; ++i) {
    const auto found = listeners_.find(listener);
    if (found == listeners_.end()) return;
    auto accepted = found->second->socket.Accept();
    if (!accepted) return Pause(*found->second, accepted.error(), now);
    auto& socket = *accepted;
    if (!socket) return;
    // Without memory the connection is closed.
    static_cast<void>(WhenMemory([&] {
      MakeRoomForHandshake();
      IwarpStream& stream = AddStream(std::move(*socket), StreamPhase::kAwaitsRequest);
      Rollback added([&] { Erase(stream); });
      stream.listener = found->second;
      // SCTP says by its protocol identifiers what it carries.
      stream.kind = is_tcp() ? StreamKind::kUndecided : StreamKind::kRdma;
      handshakes_.insert(stream.id);
      const StreamsServed& serves = found->second->serves;
      SetDeadline(stream, now + (serves.plain ? serves.silence : options_.request_timeout));
      UpdateInterest(stream);
      added.Keep();
      if (serves.is_plain_alone()) Decide(stream, StreamKind::kPlain, now);
    }));
  }
}

void IwarpCm::Pause(IwarpEnd& listener, const Error& why, Time now) {
  if (!files_.Watch(listener.socket, listener.listens_as, {.reads = true}, {})) return;
  listener.is_paused = true;
  accept_again_ = now + options_.accept_retry;
  if (counters_.accepts_postponed++ > 0) return;
  // Without memory for the text there is no warning; the counter counts on.
  static_cast<void>(WhenMemory([&] {
    on_warning_(why.text + ": connections of iWARP wait until the program closes files; if it " +
                "needs more, raise the limit of open files (ulimit -n)");
  }));
}

void IwarpCm::ResumeListeners(Time now) {
  accept_again_ = Time::Never();
  for (const auto& [id, listener] : listeners_) {
    if (!listener->is_paused) continue;
    listener->is_paused = !files_.Watch(listener->socket, id, {}, {.reads = true});
    if (listener->is_paused) accept_again_ = now + options_.accept_retry;
  }
}

void IwarpCm::OnReady(IwarpStream& stream, Time now) {
  // Without memory the stream is ended by its deadline.
  static_cast<void>(WhenMemory([&] {
    switch (stream.phase) {
      case StreamPhase::kConnecting:
        return OnConnected(stream, now);
      case StreamPhase::kAwaitsReply:
        return OnReplyBytes(stream, now);
      case StreamPhase::kAwaitsRequest:
        return stream.kind == StreamKind::kUndecided ? OnFirstBytes(stream, now)
                                                     : OnRequestBytes(stream, now);
      case StreamPhase::kRefused:
        return OnRefusedBytes(stream, now);
      case StreamPhase::kClosing:
        return OnClosing(stream);
      case StreamPhase::kRequested:
      case StreamPhase::kReplied:
      case StreamPhase::kOpen:
        return UpdateInterest(stream);
    }
  }));
}

void IwarpCm::OnConnected(IwarpStream& stream, Time now) {
  if (const int error = stream.socket().ConnectError(); error != 0) {
    if (error == EINPROGRESS) return;
    const bool is_refused = error == ECONNREFUSED || error == ECONNRESET;
    return FailConnect(stream, is_refused ? CmEventType::kRejected : CmEventType::kUnreachable,
                       is_refused ? kNoListener : 0);
  }
  if (stream.kind == StreamKind::kPlain) return OnPlainConnected(stream);
  const ConnectionParameters& parameters = stream.end->parameters;
  stream.AllocateSends(options_.send_buffer);
  stream.AllocateReceives(options_.receive_buffer);
  stream.AwaitReply();
  stream.Put(
      transport::MakeMpaRequest(TermsOf(parameters), parameters.private_data.view()).bytes());
  stream.phase = StreamPhase::kAwaitsReply;
  SetDeadline(stream, now + options_.reply_timeout);
  stream.Flush();
  UpdateInterest(stream);
}

void IwarpCm::OnRequestBytes(IwarpStream& stream, Time now) {
  stream.ReadFrame();
  if (stream.frame.failure() || stream.is_hasty()) {
    ++counters_.malformed;
    return Erase(stream);
  }
  if (stream.frame.is_complete()) return OnRequest(stream, now);
  if (stream.peer_has_closed()) Erase(stream);
}

void IwarpCm::OnRequest(IwarpStream& stream, Time now) {
  IwarpEnd& listener = *stream.listener;
  ++counters_.requests_received;
  CmEvent event = EventOf(CmEventType::kConnectRequest, stream);
  const bool is_full = listener.untaken >= listener.backlog;
  if (!listener.serves.rdma || is_full || !Describe(stream.frame, event.peer)) {
    ++(!listener.serves.rdma ? counters_.refused_rdma
       : is_full             ? counters_.refused_full
                             : counters_.malformed);
    stream.AllocateSends(kFrameMax);
    stream.Put(transport::RejectMpa(stream.frame, {}).bytes());
    return Close(stream, now);
  }
  RaiseRequest(stream, event);
}

// From now on the request waits for the program.
void IwarpCm::RaiseRequest(IwarpStream& stream, const CmEvent& event) {
  IwarpEnd& listener = *stream.listener;
  stream.phase = StreamPhase::kRequested;
  handshakes_.erase(stream.id);
  SetDeadline(stream, Time::Never());
  UpdateInterest(stream);
  ++listener.untaken;
  listener.queue->Raise(listener, event);
}

void IwarpCm::OnReplyBytes(IwarpStream& stream, Time now) {
  stream.Flush();
  stream.ReadFrame();
  if (stream.frame.failure()) {
    ++counters_.malformed;
    return FailConnect(stream, CmEventType::kRejected, kByConsumer);
  }
  if (stream.frame.is_complete()) return OnReply(stream, now);
  if (stream.peer_has_closed()) {
    return FailConnect(stream, CmEventType::kRejected, kByConsumer);
  }
  UpdateInterest(stream);
}

void IwarpCm::OnReply(IwarpStream& stream, Time now) {
  IwarpEnd& end = *stream.end;
  CmEvent event = EventOf(CmEventType::kConnectResponse, stream);
  const bool fits = Describe(stream.frame, event.peer);
  if (stream.frame.frame().rejects) {
    event.type = CmEventType::kRejected;
    event.reason = kByConsumer;
    ++counters_.rejected_by_peers;
    Close(stream, now);
    return end.queue->Raise(end, event);
  }
  auto concluded = transport::ConcludeMpa(TermsOf(end.parameters), stream.frame);
  // The ready-to-receive message is a write: no responder that knows revision 2 refuses that.
  const bool is_known = concluded.agreement && concluded.agreement->rtr != transport::MpaRtr::kRead;
  if (!is_known || !fits) {
    ++counters_.malformed;
    return FailConnect(stream, CmEventType::kRejected, kByConsumer);
  }
  stream.agreement = concluded.agreement;
  stream.socket().Adjust(stream.agreement->stream);
  stream.phase = StreamPhase::kReplied;
  SetDeadline(stream, Time::Never());
  UpdateInterest(stream);
  end.queue->Raise(end, event);
}

void IwarpCm::FailConnect(IwarpStream& stream, CmEventType type, uint16_t reason) {
  IwarpEnd& end = *stream.end;
  ++(type == CmEventType::kRejected ? counters_.rejected_by_peers : counters_.unreachable);
  CmEvent event = EventOf(type, stream);
  event.reason = reason;
  Erase(stream);
  end.queue->Raise(end, event);
}

// --- Open streams. ---

void IwarpCm::Open(IwarpStream& stream, QueuePair& qp) {
  stream.kind == StreamKind::kRdma ? qp.AttachStream(stream, *stream.agreement)
                                   : qp.AttachPlainStream(stream);
  stream.qp = &qp;
  stream.phase = StreamPhase::kOpen;
  // What was read before is delivered when the queue pair runs.
  stream.is_stalled = !stream.received().empty() || stream.peer_has_closed();
  stream.end->is_established = true;
  SetDeadline(stream, Time::Never());
  ++counters_.established;
  run_queue_.Push(qp);
}

size_t IwarpCm::ReadFor(IwarpStream& stream) {
  const size_t bytes = stream.Read();
  stream.qp->traffic.bytes_received += bytes;
  // There is room again, or the stream is broken: the queue pair runs and finds out.
  if (stream.is_blocked()) run_queue_.Push(*stream.qp);
  return bytes;
}

void IwarpCm::OnDelivered(IwarpStream& stream) { UpdateInterest(stream); }

size_t IwarpCm::OnRan(QueuePair& qp, Time now) {
  IwarpStream& stream = *qp.stream();
  const size_t sent = stream.Flush();
  qp.traffic.bytes_sent += sent;
  if (qp.plain() != nullptr) OnPlainRan(stream, sent);
  if (qp.wishes_to_close()) {
    Close(stream, now);
    return sent;
  }
  if (qp.wants_room() && sent > 0) run_queue_.Push(qp);
  UpdateInterest(stream);
  return sent;
}

void IwarpCm::Detach(QueuePair& qp, Time now) {
  if (qp.stream() != nullptr) Close(*qp.stream(), now);
}

void IwarpCm::Close(IwarpStream& stream, Time now) {
  if (stream.phase == StreamPhase::kClosing) return;
  handshakes_.erase(stream.id);
  if (QueuePair* const qp = std::exchange(stream.qp, nullptr)) {
    qp->OnStreamEnd();
    if (qp->plain() != nullptr && qp->plain()->must_reset()) stream.Reset();
    qp->DetachStream();
    run_queue_.Push(*qp);
  }
  stream.phase = StreamPhase::kClosing;
  SetDeadline(stream, now + options_.close_timeout);
  OnClosing(stream);
}

void IwarpCm::OnClosing(IwarpStream& stream) {
  stream.Flush();
  if (!stream.has_unsent()) stream.CloseWrites();
  stream.Discard();
  const bool is_done = stream.has_closed_writes() && stream.peer_has_closed();
  is_done || stream.is_broken() ? Erase(stream) : UpdateInterest(stream);
}

void IwarpCm::Erase(IwarpStream& stream) {
  if (QueuePair* const qp = std::exchange(stream.qp, nullptr)) {
    qp->OnStreamEnd();
    qp->DetachStream();
    run_queue_.Push(*qp);
  }
  if (IwarpEnd* const end = stream.end) {
    end->stream = nullptr;
    if (end->is_established) {
      ++counters_.disconnected;
      end->queue->Raise(*end, EventOf(CmEventType::kDisconnected, stream));
    }
  }
  if (stream.listener != nullptr && stream.phase == StreamPhase::kRequested) {
    --stream.listener->untaken;
  }
  handshakes_.erase(stream.id);
  SetDeadline(stream, Time::Never());
  // A forked child may have the socket, too: closing it here would not be enough.
  static_cast<void>(files_.Watch(stream.socket(), stream.id, stream.watched, {}));
  stream.CloseWrites();
  streams_.erase(stream.id);
}

// The peer of an open stream may have sent nothing yet.
void IwarpCm::OnSilence(IwarpStream& stream, Time now) {
  SetDeadline(stream, Time::Never());
  if (stream.agreement->stream.waits_for_first) {
    stream.qp->AssumePeerReady();
  } else if (stream.qp->RepeatReady() && ++stream.ready_repeats < options_.ready_repeats) {
    SetDeadline(stream, now + options_.ready_patience * (1 << 2 * stream.ready_repeats));
  }
  run_queue_.Push(*stream.qp);
}

void IwarpCm::OnTime(Time now) {
  files_.OnTime(now);
  if (accept_again_ <= now) ResumeListeners(now);
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    IwarpStream& stream = *Find(deadlines_.begin()->second);
    const bool connects =
        stream.phase == StreamPhase::kConnecting || stream.phase == StreamPhase::kAwaitsReply;
    if (connects) {
      FailConnect(stream, CmEventType::kUnreachable, 0);
    } else if (stream.phase == StreamPhase::kAwaitsRequest &&
               stream.kind == StreamKind::kUndecided && stream.listener->serves.plain) {
      OnUndecided(stream, now);
    } else if (stream.phase == StreamPhase::kOpen) {
      OnSilence(stream, now);
    } else {
      const bool is_late =
          stream.phase == StreamPhase::kAwaitsRequest || stream.phase == StreamPhase::kRefused;
      if (is_late) ++counters_.handshake_timeouts;
      Erase(stream);
    }
  }
}

void IwarpCm::EndStreams() {
  if (is_tcp()) return;
  for (const auto& [id, stream] : streams_) stream->EndSocket();
}

bool IwarpCm::has_unsent() const {
  return files_.has_unacknowledged() || std::ranges::any_of(streams_, [](const auto& entry) {
           return entry.second->has_unsent() && !entry.second->is_broken();
         });
}

bool IwarpCm::IsConsistent() const {
  return std::ranges::all_of(streams_, [&](const auto& entry) {
    const IwarpStream& stream = *entry.second;
    const bool is_open = stream.phase == StreamPhase::kOpen;
    if (is_open != (stream.qp != nullptr)) return false;
    if (is_open && stream.qp->stream() != &stream) return false;
    if (stream.end != nullptr && stream.end->stream != &stream) return false;
    const bool has_deadline = deadlines_.contains({stream.deadline, stream.id});
    return has_deadline == (stream.deadline != Time::Never());
  });
}

}  // namespace verbena::adapter
