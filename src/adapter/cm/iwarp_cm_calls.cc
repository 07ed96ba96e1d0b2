// The calls of the program; see iwarp_cm.h.

#include <cerrno>
#include <string>

#include "adapter/cm/iwarp_cm.h"
#include "base/check.h"
#include "base/rollback.h"

namespace verbena::adapter {
namespace {

IwarpEnd& Cast(CmEnd& end) { return static_cast<IwarpEnd&>(end); }

Error NotConnected() {
  return {.code = ErrorCode::kInvalid, .text = "the connection has ended", .os_error = ENOTCONN};
}

ErrorOr<void> CheckType(const QueuePair& qp, StreamKind kind) {
  if (qp.is_plain_stream() == (kind != StreamKind::kRdma)) return {};
  return Fail(InvalidError(kind == StreamKind::kRdma
                               ? "an RDMA stream needs a queue pair of type RC"
                               : "a plain stream needs a queue pair of type STREAM"));
}

ErrorOr<void> CheckData(StreamKind kind, const CmPrivateData& data) {
  if (kind == StreamKind::kRdma || data.size == 0) return {};
  return Fail(InvalidError("a plain stream carries no private data"));
}

}  // namespace

transport::MpaTerms IwarpCm::TermsOf(const ConnectionParameters& parameters) const {
  return {.revision = options_.mpa_revision,
          .markers = options_.mpa_markers,
          .crc = options_.mpa_crc,
          .ird = parameters.responder_resources,
          .ord = parameters.initiator_depth,
          .peer_to_peer = is_tcp(),
          .ulpdu_max = options_.ulpdu_max};
}

ErrorOr<QueuePair*> IwarpCm::FreeQp(QpNumber number, StreamKind kind) const {
  QueuePair* const qp = qps_.Find(number);
  if (qp == nullptr) return Fail(InvalidError("there is no queue pair with this number"));
  if (const auto ok = CheckType(*qp, kind); !ok) return Fail(ok.error());
  if (qp->state() != QpState::kInit || qp->stream() != nullptr) {
    return Fail(InvalidError("a queue pair must be in INIT when it is connected"));
  }
  return qp;
}

ErrorOr<IwarpStream*> IwarpCm::StreamOf(const IwarpEnd& end, StreamPhase phase) const {
  if (end.state != CmEnd::State::kConnection) return Fail(InvalidError("the id has no connection"));
  if (end.stream == nullptr) return Fail(NotConnected());
  if (end.stream->phase != phase) {
    return Fail(InvalidError("the connection is in a state that does not allow this call"));
  }
  return end.stream;
}

ErrorOr<CmEnd*> IwarpCm::Create(CmEventQueue& queue, PortSpace space, void* user) {
  if (space == PortSpace::kUdp) {
    return Fail(Error{ErrorCode::kNotSupported, "iWARP has no datagram service", EOPNOTSUPP});
  }
  auto end = std::make_unique<IwarpEnd>(queue, space, user);
  IwarpEnd* const created = end.get();
  ends_.emplace(created, std::move(end));
  return created;
}

ErrorOr<CmEnd*> IwarpCm::Take(const CmEvent& event, CmEventQueue& queue, void* user) {
  IwarpStream* const stream = Find(StreamId(event.request.value()));
  if (stream == nullptr || stream->listener == nullptr ||
      stream->phase != StreamPhase::kRequested) {
    return Fail(Error{ErrorCode::kInvalid, "the request was already taken, or its listener is gone",
                      ENOTCONN});
  }
  const auto created = Create(queue, stream->listener->space, user);
  if (!created) return created;
  IwarpEnd& end = Cast(**created);
  --std::exchange(stream->listener, nullptr)->untaken;
  end.local = event.local;
  end.state = CmEnd::State::kConnection;
  end.stream = stream;
  stream->end = &end;
  return &end;
}

void IwarpCm::Destroy(CmEnd& base, Time now) {
  IwarpEnd& end = Cast(base);
  if (end.state == CmEnd::State::kListening) {
    listeners_.erase(end.listens_as);
    static_cast<void>(files_.Watch(end.socket, end.listens_as, {.reads = !end.is_paused}, {}));
    std::erase_if(handshakes_, [&](StreamId id) { return Find(id)->listener == &end; });
    // Closing one may erase it.
    std::vector<IwarpStream*> own;
    for (const auto& [id, stream] : streams_) {
      if (stream->listener == &end) own.push_back(stream.get());
    }
    for (IwarpStream* const stream : own) {
      stream->listener = nullptr;
      if (stream->phase == StreamPhase::kRefused) continue;
      if (stream->kind != StreamKind::kRdma) stream->Reset();
      Close(*stream, now);
    }
  } else if (IwarpStream* const stream = std::exchange(end.stream, nullptr)) {
    stream->end = nullptr;
    if (stream->phase != StreamPhase::kRefused) Close(*stream, now);
  }
  end.queue->Forget(end);
  ends_.erase(&base);
}

// The system decides about the reuse of an address, as for any TCP socket.
ErrorOr<void> IwarpCm::Bind(CmEnd& base, const CmAddress& address, bool /*reuse_address*/,
                            bool own_family_only) {
  IwarpEnd& end = Cast(base);
  if (end.state != CmEnd::State::kIdle || end.socket.is_open()) {
    return Fail(InvalidError("the id is already bound to an address"));
  }
  auto socket = files_.Bind(address, own_family_only);
  if (!socket) return Fail(socket.error());
  end.socket = std::move(*socket);
  end.local = address;
  end.local.port = end.socket.local().port;
  return {};
}

ErrorOr<void> IwarpCm::Listen(CmEnd& base, uint32_t backlog, const StreamsServed& serves,
                              Time /*now*/) {
  IwarpEnd& end = Cast(base);
  if (!serves.rdma && !serves.iscsi && !serves.plain) {
    return Fail(InvalidError("a listener must serve RDMA, iSCSI or plain streams"));
  }
  if (!is_tcp() && (serves.iscsi || serves.plain)) {
    return Fail(Error{ErrorCode::kNotSupported, "iWARP over SCTP has no iSCSI and no plain streams",
                      EOPNOTSUPP});
  }
  if (serves.silence <= Duration()) return Fail(InvalidError("silence must be positive"));
  if (end.state != CmEnd::State::kIdle || !end.socket.is_open()) {
    return Fail(InvalidError("only a bound id that does not listen yet can listen"));
  }
  // The backlog of the program bounds requests; connections before that have bounds of their own.
  if (const auto listens = end.socket.Listen(options_.handshakes_max); !listens) return listens;
  const StreamId id(++last_id_);
  listeners_.emplace(id, &end);
  Rollback added([&] { listeners_.erase(id); });
  if (!files_.Watch(end.socket, id, {}, {.reads = true})) {
    return Fail(SystemError("cannot watch a TCP socket"));
  }
  added.Keep();
  end.listens_as = id;
  end.backlog = backlog;
  end.serves = serves;
  end.state = CmEnd::State::kListening;
  return {};
}

ErrorOr<void> IwarpCm::Connect(CmEnd& base, const IpAddress& from, const CmAddress& to,
                               const ConnectionParameters& parameters, Time now) {
  IwarpEnd& end = Cast(base);
  if (end.state != CmEnd::State::kIdle) return Fail(InvalidError("the id is already in use"));
  const bool is_plain = parameters.service == CmService::kStream;
  if (parameters.service != CmService::kRc && !is_plain) {
    return Fail(Error{ErrorCode::kNotSupported, "iWARP has reliable connections only", EOPNOTSUPP});
  }
  const QueuePair* const qp = qps_.Find(parameters.qp);
  if (qp == nullptr) return Fail(InvalidError("there is no queue pair with this number"));
  const StreamKind kind = is_plain ? StreamKind::kPlain : StreamKind::kRdma;
  if (const auto ok = CheckType(*qp, kind); !ok) return ok;
  if (const auto ok = CheckData(kind, parameters.private_data); !ok) return ok;
  if (!end.socket.is_open()) {
    if (const auto bound = Bind(end, {.ip = from, .interface = to.interface}, false, false);
        !bound) {
      return bound;
    }
  }
  if (const auto begun = end.socket.Connect(to); !begun) return begun;
  IwarpStream& stream = AddStream(std::move(end.socket), StreamPhase::kConnecting);
  stream.kind = kind;
  end.socket = {};
  end.parameters = parameters;
  end.state = CmEnd::State::kConnection;
  end.stream = &stream;
  stream.end = &end;
  ++counters_.requests_sent;
  SetDeadline(stream, now + options_.reply_timeout);
  UpdateInterest(stream);
  return {};
}

ErrorOr<void> IwarpCm::Accept(CmEnd& base, const ConnectionParameters& parameters, Time now) {
  IwarpEnd& end = Cast(base);
  const auto stream = StreamOf(end, StreamPhase::kRequested);
  if (!stream) return Fail(stream.error());
  const StreamKind kind = (*stream)->kind;
  const auto qp = FreeQp(parameters.qp, kind);
  if (!qp) return Fail(qp.error());
  if (const auto ok = CheckData(kind, parameters.private_data); !ok) return ok;
  (*stream)->AllocateSends(options_.send_buffer);
  (*stream)->AllocateReceives(options_.receive_buffer);
  if (kind == StreamKind::kRdma) {
    const auto accepted =
        transport::AcceptMpa((*stream)->frame, TermsOf(parameters), parameters.private_data.view());
    (*stream)->Put(accepted.reply.bytes());
    (*stream)->agreement = accepted.agreement;
    (*stream)->socket().Adjust((*stream)->agreement->stream);
  } else {
    (*stream)->HeadIsReceived();
  }
  Open(**stream, **qp);
  const auto& agreed = (*stream)->agreement;
  if (agreed && agreed->stream.waits_for_first && agreed->rtr == transport::MpaRtr::kNone) {
    SetDeadline(**stream, now + options_.first_frame_patience);
  }
  end.queue->Raise(end, {.type = CmEventType::kEstablished});
  static_cast<void>(OnRan(**qp, now));
  return {};
}

ErrorOr<void> IwarpCm::Reject(CmEnd& base, const CmPrivateData& data, uint16_t /*reason*/,
                              Time now) {
  IwarpEnd& end = Cast(base);
  if (end.state == CmEnd::State::kConnection && end.stream != nullptr &&
      end.stream->phase == StreamPhase::kReplied) {
    Close(*end.stream, now);
    return {};
  }
  const auto stream = StreamOf(end, StreamPhase::kRequested);
  if (!stream) return Fail(stream.error());
  if ((*stream)->kind != StreamKind::kRdma) {
    ++counters_.rejected;
    RefuseWithoutMpa(**stream, transport::IscsiStatus::kServiceUnavailable, now);
    return {};
  }
  constexpr size_t kFrameMax = wire::MpaRequest::kSize + wire::MpaRequest::kPrivateDataMax;
  (*stream)->AllocateSends(kFrameMax);
  (*stream)->Put(transport::RejectMpa((*stream)->frame, data.view()).bytes());
  ++counters_.rejected;
  Close(**stream, now);
  return {};
}

ErrorOr<void> IwarpCm::Establish(CmEnd& base, Time now) {
  IwarpEnd& end = Cast(base);
  const auto stream = StreamOf(end, StreamPhase::kReplied);
  if (!stream) return Fail(stream.error());
  const auto qp = FreeQp(end.parameters.qp, (*stream)->kind);
  if (!qp) return Fail(qp.error());
  if ((*stream)->kind != StreamKind::kRdma) {
    (*stream)->AllocateSends(options_.send_buffer);
    (*stream)->AllocateReceives(options_.receive_buffer);
  }
  Open(**stream, **qp);
  if ((*stream)->kind == StreamKind::kRdma) {
    if ((*stream)->agreement->rtr != transport::MpaRtr::kNone) (*qp)->SendReadyToReceive();
    SetDeadline(**stream, now + options_.ready_patience);
  }
  static_cast<void>(OnRan(**qp, now));
  return {};
}

ErrorOr<void> IwarpCm::NotifyEstablished(CmEnd& /*end*/, Time /*now*/) { return {}; }

ErrorOr<void> IwarpCm::Disconnect(CmEnd& base, const CmPrivateData& /*data*/, Time now) {
  IwarpEnd& end = Cast(base);
  if (end.state != CmEnd::State::kConnection) return Fail(InvalidError("the id has no connection"));
  if (end.stream == nullptr) return Fail(NotConnected());
  Close(*end.stream, now);
  return {};
}

void IwarpCm::Migrate(CmEnd& end, CmEventQueue& queue) {
  CmEventQueue& before = *std::exchange(end.queue, &queue);
  before.MoveTo(queue, end);
}

}  // namespace verbena::adapter
