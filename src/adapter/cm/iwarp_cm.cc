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

CmEvent EventOf(CmEventType type, const IwarpStream& stream) {
  CmEvent event;
  event.type = type;
  event.request = CmRequestId(stream.id.value());
  event.local = stream.socket().local();
  event.remote = stream.socket().peer();
  return event;
}

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
    auto socket = found->second->socket.Accept();
    if (!socket) return;
    // Without memory the connection is closed.
    static_cast<void>(WhenMemory([&] {
      MakeRoomForHandshake();
      IwarpStream& stream = AddStream(std::move(*socket), StreamPhase::kAwaitsRequest);
      Rollback added([&] { Erase(stream); });
      stream.listener = found->second;
      handshakes_.insert(stream.id);
      SetDeadline(stream, now + options_.request_timeout);
      UpdateInterest(stream);
      added.Keep();
    }));
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
        return OnRequestBytes(stream, now);
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
  if (is_full || !Describe(stream.frame, event.peer)) {
    ++(is_full ? counters_.refused_full : counters_.malformed);
    stream.AllocateSends(kFrameMax);
    stream.Put(transport::RejectMpa(stream.frame, {}).bytes());
    return Close(stream, now);
  }
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
  qp.AttachStream(stream, *stream.agreement);
  stream.qp = &qp;
  stream.phase = StreamPhase::kOpen;
  // Bytes behind the reply are delivered when the queue pair runs.
  stream.is_stalled = !stream.received().empty();
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

void IwarpCm::OnTime(Time now) {
  files_.OnTime(now);
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    IwarpStream& stream = *Find(deadlines_.begin()->second);
    const bool connects =
        stream.phase == StreamPhase::kConnecting || stream.phase == StreamPhase::kAwaitsReply;
    if (connects) {
      FailConnect(stream, CmEventType::kUnreachable, 0);
    } else {
      if (stream.phase == StreamPhase::kAwaitsRequest) ++counters_.handshake_timeouts;
      Erase(stream);
    }
  }
}

void IwarpCm::EndStreams() {
  if (files_.wire() == StreamWire::kTcp) return;
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
