// The calls of the program; see gsi.h.

#include <cerrno>
#include <string>

#include "adapter/cm/cm_values.h"
#include "adapter/cm/gsi.h"
#include "base/check.h"
#include "base/rollback.h"
#include "base/when_memory.h"

namespace verbena::adapter {
namespace {

using transport::CmError;
using transport::CmPeer;

// A SIDR_REQ has no timeouts: the same values as those of a REQ.
constexpr transport::SidrExchange::Retry kSidrRetry{.answer = Seconds(1), .count = 15};

Error TooLong(const char* message, size_t most) {
  return InvalidError(std::string("the private data of a ") + message + " has at most " +
                      std::to_string(most) + " bytes");
}

Error CmErrorOf(CmError error) {
  switch (error) {
    case CmError::kUnknownId:
      return {
          .code = ErrorCode::kInvalid, .text = "the connection has ended", .os_error = ENOTCONN};
    case CmError::kWrongState:
      return InvalidError("the connection is in a state that does not allow this call");
    case CmError::kQpInUse:
      return InvalidError("the queue pair belongs to another connection, or to one in timewait");
    case CmError::kTooManyConnections:
      return {.code = ErrorCode::kLimit, .text = "too many connections of the connection manager"};
    case CmError::kTooManyListeners:
      return {.code = ErrorCode::kLimit, .text = "too many listeners of the connection manager"};
    case CmError::kServiceInUse:
      return {.code = ErrorCode::kInUse,
              .text = "another id listens on this port",
              .os_error = EADDRINUSE};
    case CmError::kNotListening:
      return InvalidError("the id does not listen");
  }
  UNREACHABLE();
}

ErrorOr<void> Checked(const Result<void, CmError>& result) {
  if (!result) return Fail(CmErrorOf(result.error()));
  return {};
}

wire::IpCmHeader AddressesOf(const IpAddress& from, uint16_t port, const IpAddress& to) {
  return {.minor_version = 0, .source_port = port, .source = from, .destination = to};
}

}  // namespace

ErrorOr<CmEnd*> Gsi::Create(CmEventQueue& queue, PortSpace space, void* user) {
  if (const auto started = Start(); !started) return Fail(started.error());
  auto end = std::make_unique<CmEnd>(queue, space, user);
  CmEnd* const created = end.get();
  ends_.emplace(created, std::move(end));
  return created;
}

ErrorOr<CmEnd*> Gsi::Take(const CmEvent& event, CmEventQueue& queue, void* user) {
  const CmRequestId request = event.request;
  const auto untaken = untaken_.find(request);
  if (untaken == untaken_.end()) {
    return Fail(Error{ErrorCode::kInvalid, "the request was already taken, or its listener is gone",
                      ENOTCONN});
  }
  const auto created = Create(queue, untaken->second.listener->space, user);
  if (!created) return created;
  CmEnd& end = **created;
  end.local = event.local;
  if (event.type == CmEventType::kSidrRequest) {
    end.state = CmEnd::State::kExchange;
    end.exchange = wire::SidrRequestId(static_cast<uint32_t>(request.value()));
    exchanges_.emplace(end.exchange, &end);
  } else {
    end.state = CmEnd::State::kConnection;
    end.connection = wire::CommId(static_cast<uint32_t>(request.value()));
    connections_.emplace(end.connection, &end);
  }
  const std::optional<CmEvent> held = untaken->second.held;
  untaken_.erase(untaken);
  if (held) end.queue->Raise(end, *held);
  return &end;
}

void Gsi::Destroy(CmEnd& end, Time now) {
  transport::CmStep step = StepAt(now);
  switch (end.state) {
    case CmEnd::State::kIdle:
      break;
    case CmEnd::State::kListening:
      CHECK(manager_->StopListening(end.listens_on).has_value());
      listeners_.erase(end.listens_on);
      RejectUntaken(end, now);
      break;
    case CmEnd::State::kConnection:
      connections_.erase(end.connection);
      static_cast<void>(manager_->Destroy(end.connection, step));
      break;
    case CmEnd::State::kExchange:
      exchanges_.erase(end.exchange);
      static_cast<void>(manager_->sidr().Destroy(end.exchange, step));
      break;
  }
  DrainEvents(now);
  end.queue->Forget(end);
  ends_.erase(&end);
}

void Gsi::RejectUntaken(const CmEnd& listener, Time now) {
  transport::CmStep step = StepAt(now);
  std::erase_if(untaken_, [&](const auto& entry) {
    if (entry.second.listener != &listener) return false;
    const auto number = static_cast<uint32_t>(entry.first.value());
    // The manager does not know a request that has ended.
    if (entry.first.value() == number) {
      static_cast<void>(manager_->Destroy(wire::CommId(number), step));
    } else {
      static_cast<void>(manager_->sidr().Destroy(wire::SidrRequestId(number), step));
    }
    return true;
  });
}

ErrorOr<void> Gsi::Bind(CmEnd& end, const CmAddress& address, bool reuse_address,
                        bool own_family_only) {
  if (end.state != CmEnd::State::kIdle || !end.claim.is_empty()) {
    return Fail(InvalidError("the id is already bound"));
  }
  auto claim = ports_->Claim({.protocol = end.space,
                              .address = address.ip,
                              .port = address.port,
                              .own_family_only = own_family_only,
                              .reuse_address = reuse_address});
  if (!claim) return Fail(claim.error());
  end.claim = std::move(*claim);
  end.local = address;
  end.local.port = end.claim.port();
  return {};
}

ErrorOr<void> Gsi::Listen(CmEnd& end, uint32_t backlog, Time now) {
  if (end.state != CmEnd::State::kIdle || end.claim.is_empty()) {
    return Fail(InvalidError("only a bound id that does not listen yet can listen"));
  }
  if (const auto exclusive = end.claim.MakeExclusive(); !exclusive) return exclusive;
  const transport::CmListenAddress at(wire::ServiceIdOf({end.space, end.local.port}), end.local.ip,
                                      end.claim.request().own_family_only);
  if (const auto listens = manager_->Listen(at, backlog); !listens) {
    return Fail(CmErrorOf(listens.error()));
  }
  Rollback listening([&] { CHECK(manager_->StopListening(at).has_value()); });
  listeners_.emplace(at, &end);
  listening.Keep();
  end.listens_on = at;
  end.state = CmEnd::State::kListening;
  // Without memory the requests that came early are lost, and retransmitted by their senders.
  static_cast<void>(WhenMemory([&] {
    early_.OnListen({end.space, end.local.port}, now);
    OfferAgain(now);
    DrainEvents(now);
  }));
  return {};
}

ErrorOr<void> Gsi::Connect(CmEnd& end, const IpAddress& from, const CmAddress& to,
                           const ConnectionParameters& parameters, Time now) {
  if (end.state != CmEnd::State::kIdle) return Fail(InvalidError("the id is already in use"));
  if (from.is_ipv4() != to.ip.is_ipv4()) {
    return Fail(InvalidError("a connection from " + ToString(from) + " to " + ToString(to.ip) +
                             " mixes IPv4 and IPv6"));
  }
  const CmPeer peer(to.ip, from, wire::kGeneralServicesQp);
  const wire::IpCmService service{end.space, to.port};
  const wire::IpCmHeader addresses = AddressesOf(from, end.local.port, to.ip);
  if (parameters.service == CmService::kStream) {
    return Fail(Error{ErrorCode::kNotSupported,
                      "a plain stream needs a device of the iWARP transport", EOPNOTSUPP});
  }
  if (parameters.service == CmService::kUd) {
    return Ask(end, peer, service, addresses, parameters, now);
  }
  if (parameters.private_data.size > kReqPrivateData) {
    return Fail(TooLong("connection request", kReqPrivateData));
  }
  transport::CmStep step = StepAt(now);
  const auto id = manager_->Connect(RequestOf(parameters, service, addresses), peer, step);
  if (!id) return Fail(CmErrorOf(id.error()));
  ++counters_.requests_sent;
  end.state = CmEnd::State::kConnection;
  end.connection = *id;
  connections_.emplace(*id, &end);
  return {};
}

ErrorOr<void> Gsi::Ask(CmEnd& end, const CmPeer& peer, const wire::IpCmService& service,
                       const wire::IpCmHeader& addresses, const ConnectionParameters& parameters,
                       Time now) {
  if (parameters.private_data.size > kSidrReqPrivateData) {
    return Fail(TooLong("SIDR request", kSidrReqPrivateData));
  }
  transport::CmStep step = StepAt(now);
  const auto id =
      manager_->sidr().Ask(SidrRequestOf(parameters, service, addresses), peer, kSidrRetry, step);
  if (!id) return Fail(CmErrorOf(id.error()));
  ++counters_.requests_sent;
  end.state = CmEnd::State::kExchange;
  end.exchange = *id;
  exchanges_.emplace(*id, &end);
  return {};
}

ErrorOr<void> Gsi::Accept(CmEnd& end, const ConnectionParameters& parameters, Time now) {
  transport::CmStep step = StepAt(now);
  if (end.state == CmEnd::State::kExchange) {
    const auto data = ToWire<136>(parameters.private_data);
    if (!data) return Fail(TooLong("SIDR response", data.error()));
    return Checked(manager_->sidr().Answer(end.exchange,
                                           {.status = wire::CmSidrStatus::kValid,
                                            .qp = parameters.qp,
                                            .q_key = parameters.qkey,
                                            .private_data = *data},
                                           step));
  }
  if (end.state != CmEnd::State::kConnection) return Fail(InvalidError("the id has no request"));
  if (const auto data = ToWire<196>(parameters.private_data); !data) {
    return Fail(TooLong("connection response", data.error()));
  }
  return Checked(manager_->Accept(end.connection, ResponseOf(parameters), step));
}

ErrorOr<void> Gsi::Reject(CmEnd& end, const CmPrivateData& data, uint16_t reason, Time now) {
  transport::CmStep step = StepAt(now);
  if (end.state == CmEnd::State::kExchange) {
    const auto bytes = ToWire<136>(data);
    if (!bytes) return Fail(TooLong("SIDR response", bytes.error()));
    const auto status =
        reason == 0 ? wire::CmSidrStatus::kRejected : static_cast<wire::CmSidrStatus>(reason);
    ++counters_.rejected;
    return Checked(
        manager_->sidr().Answer(end.exchange, {.status = status, .private_data = *bytes}, step));
  }
  if (end.state != CmEnd::State::kConnection) return Fail(InvalidError("the id has no request"));
  const auto bytes = ToWire<148>(data);
  if (!bytes) return Fail(TooLong("rejection", bytes.error()));
  ++counters_.rejected;
  const auto why =
      reason == 0 ? wire::CmRejectReason::kConsumer : static_cast<wire::CmRejectReason>(reason);
  return Checked(manager_->Reject(end.connection, {.reason = why, .private_data = *bytes}, step));
}

ErrorOr<void> Gsi::Establish(CmEnd& end, Time now) {
  if (end.state != CmEnd::State::kConnection) return Fail(InvalidError("the id has no connection"));
  transport::CmStep step = StepAt(now);
  const auto established = Checked(manager_->Establish(end.connection, {}, step));
  if (established) ++counters_.established;
  return established;
}

ErrorOr<void> Gsi::NotifyEstablished(CmEnd& end, Time now) {
  if (end.state != CmEnd::State::kConnection) return Fail(InvalidError("the id has no connection"));
  transport::CmStep step = StepAt(now);
  const auto notified = Checked(manager_->NotifyEstablished(end.connection, step));
  DrainEvents(now);
  return notified;
}

ErrorOr<void> Gsi::Disconnect(CmEnd& end, const CmPrivateData& data, Time now) {
  if (end.state != CmEnd::State::kConnection) return Fail(InvalidError("the id has no connection"));
  const auto bytes = ToWire<220>(data);
  if (!bytes) return Fail(TooLong("disconnect request", bytes.error()));
  transport::CmStep step = StepAt(now);
  const auto disconnected = Checked(manager_->Disconnect(end.connection, *bytes, step));
  DrainEvents(now);
  return disconnected;
}

void Gsi::Migrate(CmEnd& end, CmEventQueue& queue) {
  CmEventQueue& before = *std::exchange(end.queue, &queue);
  before.MoveTo(queue, end);
}

}  // namespace verbena::adapter
