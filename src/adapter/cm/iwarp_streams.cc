// What the connections of IwarpCm carry (row B11), and those that carry no RDMA; see iwarp_cm.h.

#include "adapter/cm/iwarp_cm.h"
#include "base/when_memory.h"
#include "transport/iwarp/stream_kind.h"

namespace verbena::adapter {

void IwarpCm::OnFirstBytes(IwarpStream& stream, Time now) {
  stream.ReadHead(transport::kDecisiveBytes);
  const StreamKind kind = transport::KindOf(stream.head());
  if (kind != StreamKind::kUndecided) return Decide(stream, kind, now);
  if (!stream.peer_has_closed()) return;
  const bool is_plain = stream.listener->serves.plain && !stream.is_broken();
  is_plain ? Decide(stream, StreamKind::kPlain, now) : Erase(stream);
}

// The bytes have not decided in time, or there are none: a peer that waits for this side to begin.
void IwarpCm::OnUndecided(IwarpStream& stream, Time now) {
  if (!WhenMemory([&] { Decide(stream, StreamKind::kPlain, now); })) Erase(stream);
}

void IwarpCm::Decide(IwarpStream& stream, StreamKind kind, Time now) {
  const bool is_served = stream.listener->serves.Has(kind);
  stream.kind = kind;
  SetDeadline(stream, now + options_.request_timeout);
  switch (kind) {
    case StreamKind::kUndecided:
      break;  // is never passed
    case StreamKind::kRdma:
      // Its request must be whole before it can be refused.
      stream.HeadIsOfFrame();
      return OnRequestBytes(stream, now);
    case StreamKind::kIscsi:
      if (is_served) return OnPlainRequest(stream, now);
      ++counters_.refused_iscsi;
      return RefuseWithoutMpa(stream, transport::IscsiStatus::kServiceUnavailable, now);
    case StreamKind::kPlain:
      if (is_served) return OnPlainRequest(stream, now);
      ++counters_.refused_plain;
      return RefuseWithoutMpa(stream, {}, now);
  }
}

void IwarpCm::OnPlainRequest(IwarpStream& stream, Time now) {
  const IwarpEnd& listener = *stream.listener;
  ++counters_.requests_received;
  ++(stream.kind == StreamKind::kIscsi ? counters_.iscsi_streams : counters_.plain_streams);
  if (listener.untaken >= listener.backlog) {
    ++counters_.refused_full;
    return RefuseWithoutMpa(stream, transport::IscsiStatus::kOutOfResources, now);
  }
  CmEvent event = EventOf(CmEventType::kConnectRequest, stream);
  event.peer.service = CmService::kStream;
  RaiseRequest(stream, event);
}

// TCP refuses by a reset; iSCSI by the response to the login, which repeats parts of its header.
void IwarpCm::RefuseWithoutMpa(IwarpStream& stream, transport::IscsiStatus why, Time now) {
  if (stream.kind != StreamKind::kIscsi) {
    stream.Reset();
    return Erase(stream);
  }
  stream.refusal = why;
  stream.phase = StreamPhase::kRefused;
  handshakes_.insert(stream.id);
  SetDeadline(stream, now + options_.request_timeout);
  OnRefusedBytes(stream, now);
}

void IwarpCm::OnRefusedBytes(IwarpStream& stream, Time now) {
  stream.ReadHead(transport::kIscsiHeaderBytes);
  if (stream.head().size() < transport::kIscsiHeaderBytes) {
    return stream.peer_has_closed() ? Erase(stream) : UpdateInterest(stream);
  }
  const auto response = transport::RefuseIscsiLogin(
      stream.head().first<transport::kIscsiHeaderBytes>(), stream.refusal);
  stream.AllocateSends(response.size());
  stream.Put(response);
  Close(stream, now);
}

// The program is to establish or to reject. What the peer sends meanwhile waits in its socket.
void IwarpCm::OnPlainConnected(IwarpStream& stream) {
  IwarpEnd& end = *stream.end;
  stream.phase = StreamPhase::kReplied;
  SetDeadline(stream, Time::Never());
  UpdateInterest(stream);
  CmEvent event = EventOf(CmEventType::kConnectResponse, stream);
  event.peer.service = CmService::kStream;
  end.queue->Raise(end, event);
}

void IwarpCm::OnPlainRan(IwarpStream& stream, size_t sent) {
  QueuePair& qp = *stream.qp;
  transport::StreamQp& machine = *qp.plain();
  if (stream.has_lost_bytes()) return qp.OnStreamEnd();
  const bool ends_now = machine.wants_end() && !stream.has_unsent();
  if (ends_now) {
    stream.CloseWrites();
    machine.OnEndSent();
  }
  if (ends_now || (sent > 0 && machine.awaits_taken())) run_queue_.Push(qp);
}

}  // namespace verbena::adapter
