#include "adapter/cm/gsi.h"

#include <algorithm>
#include <variant>

#include "adapter/cm/cm_values.h"
#include "base/check.h"
#include "base/random.h"

namespace verbena::adapter {
namespace {

using transport::CmPeer;
using transport::CmRaisedEvent;

// A consumer that has not answered by then is announced by an MRA, so that the peer does not ask
// again at once: half the time that a REQ gives (kResponseTimeout).
constexpr Duration kSlowAnswer = Milliseconds(500);
// In an MRA: the peer asks again 4.3 s later, and gets the MRA again.
constexpr wire::CmTimeout kMraTimeout{20};

// A mailbox takes ten datagrams (net.unix.max_dgram_qlen), which its process reads at once unless
// it does not run. Of requests that come in greater numbers these wait; further ones are lost, and
// their senders send them again.
constexpr size_t kPutOffMax = 1'024;
constexpr Duration kHandOnAgain = Milliseconds(1);
// Programs make one connection, tell each other of a second by it, and race for that: the client to
// connect, the server to listen. A request is refused only after the time that this takes.
constexpr Duration kListenSoon = Milliseconds(10);
constexpr size_t kEarlyMax = 256;

// Requests of SIDR and of connections have numbers of their own.
constexpr uint64_t kSidrRequests = uint64_t{1} << 32;

template <class Map, class Key>
auto FindIn(const Map& map, const Key& key) -> typename Map::mapped_type {
  const auto found = map.find(key);
  return found == map.end() ? typename Map::mapped_type{} : found->second;
}

// The service that a MAD asks for, if it is a request.
std::optional<wire::IpCmService> RequestedService(const wire::CmMad& mad) {
  if (const auto* const req = std::get_if<wire::CmReq>(&mad.message)) {
    return wire::IpCmServiceOf(req->service_id);
  }
  if (const auto* const sidr = std::get_if<wire::CmSidrReq>(&mad.message)) {
    return wire::IpCmServiceOf(sidr->service_id);
  }
  return std::nullopt;
}

}  // namespace

Gsi::~Gsi() = default;

ErrorOr<void> Gsi::Start() {
  if (manager_ != nullptr) return {};
  auto ports = PortRegistry::Open({.base_port = options_.ports.ports.first, .seed = options_.seed});
  if (!ports) return Fail(ports.error());
  Random random(options_.seed);
  transport::CmOptions options;
  options.ca_guid = wire::CaGuid(random.Next64());
  options.id_mask = static_cast<uint32_t>(random.Next64());
  manager_ = std::make_unique<transport::CmManager>(options);
  ports_ = std::move(*ports);
  return {};
}

void Gsi::OnMad(std::span<const std::byte, wire::kMadSize> mad, const CmPeer& from, Time now) {
  // Without files for it the request is lost, and the peer sends it again.
  if (!Start()) return;
  Take(mad, from, /*is_forwarded=*/false, now);
  DrainEvents(now);
}

// One that another process has forwarded is for this one, or for none.
void Gsi::Take(std::span<const std::byte, wire::kMadSize> mad, const CmPeer& from,
               bool is_forwarded, Time now) {
  ++counters_.mads_received;
  if (!is_forwarded && HandOn(mad, from, now)) return;
  if (LacksListener(mad, from) && early_.size() < kEarlyMax) {
    early_.push_back({{}, from, now + kListenSoon, is_forwarded});
    std::ranges::copy(mad, early_.back().mad.begin());
    return;
  }
  transport::CmStep step = StepAt(now);
  manager_->OnDatagram(mad, from, step);
}

// A REQ for a service that this process does not have.
bool Gsi::LacksListener(std::span<const std::byte, wire::kMadSize> mad, const CmPeer& from) const {
  const auto parsed = wire::CmMad::Parse(mad);
  if (!parsed || !std::holds_alternative<wire::CmReq>(parsed->message)) return false;
  const auto service = RequestedService(*parsed);
  return service && !manager_->FindListener(wire::ServiceIdOf(*service), from.local);
}

void Gsi::AnswerEarly(Time now) {
  for (; !early_.empty() && early_.front().at <= now; early_.pop_front()) {
    const EarlyRequest& request = early_.front();
    if (!request.is_forwarded && HandOn(request.mad, request.from, now)) continue;
    transport::CmStep step = StepAt(now);
    manager_->OnDatagram(request.mad, request.from, step);
  }
}

// A port that no process has is this one's to refuse.
bool Gsi::HandOn(std::span<const std::byte, wire::kMadSize> mad, const CmPeer& from, Time now) {
  const auto parsed = wire::CmMad::Parse(mad);
  const auto service = parsed ? RequestedService(*parsed) : std::nullopt;
  if (!service || manager_->FindListener(wire::ServiceIdOf(*service), from.local)) return false;
  ForwardedMad forwarded{.service = *service,
                         .source = from.address,
                         .destination = from.local,
                         .source_qp = from.gsi};
  std::ranges::copy(mad, forwarded.mad.begin());
  const ForwardResult result = put_off_.empty() ? ports_->Forward(forwarded) : ForwardResult::kFull;
  if (result == ForwardResult::kFull && put_off_.size() < kPutOffMax) {
    put_off_.push_back(forwarded);
    if (put_off_.size() == 1) hand_on_again_ = now + kHandOnAgain;
  }
  const bool is_handed_on = result != ForwardResult::kNoListener;
  counters_.mads_forwarded += is_handed_on ? 1 : 0;
  return is_handed_on;
}

// In order. One whose port is free now is lost: its sender sends it again.
void Gsi::HandOnAgain(Time now) {
  while (!put_off_.empty() && ports_->Forward(put_off_.front()) != ForwardResult::kFull) {
    put_off_.pop_front();
  }
  hand_on_again_ = put_off_.empty() ? Time::Never() : now + kHandOnAgain;
}

void Gsi::OnMailbox(Time now) {
  if (ports_ == nullptr) return;
  ports_->Receive(now, [&](const ForwardedMad& forwarded) {
    Take(forwarded.mad, {forwarded.source, forwarded.destination, forwarded.source_qp},
         /*is_forwarded=*/true, now);
  });
  DrainEvents(now);
}

void Gsi::OnTime(Time now) {
  if (manager_ == nullptr) return;
  AnnounceSlowAnswers(now);
  if (hand_on_again_ <= now) HandOnAgain(now);
  AnswerEarly(now);
  transport::CmStep step = StepAt(now);
  if (manager_->next_time() <= now) static_cast<void>(manager_->OnTime(step));
  DrainEvents(now);
}

Time Gsi::next_time() const {
  if (manager_ == nullptr) return Time::Never();
  const Time slow = slow_answers_.empty() ? Time::Never() : slow_answers_.front().at;
  const Time early = early_.empty() ? Time::Never() : early_.front().at;
  return std::min({manager_->next_time(), slow, hand_on_again_, early});
}

void Gsi::AnnounceSlowAnswers(Time now) {
  for (; !slow_answers_.empty() && slow_answers_.front().at <= now; slow_answers_.pop_front()) {
    transport::CmStep step = StepAt(now);
    // Refused if the consumer has answered.
    static_cast<void>(manager_->SendMra(slow_answers_.front().connection,
                                        {.service_timeout = kMraTimeout}, step));
  }
}

// --- Events. ---

void Gsi::DrainEvents(Time now) {
  // A request that is refused here adds datagrams, but no event.
  for (size_t i = 0; i < outbox_.events.size(); ++i) Raise(outbox_.events[i], now);
  outbox_.events.clear();
}

CmRequestId Gsi::RequestIdOf(const CmRaisedEvent& raised) {
  const bool is_sidr = raised.type >= CmEventType::kSidrRequest;
  return is_sidr ? CmRequestId(kSidrRequests | raised.sidr.value())
                 : CmRequestId(raised.connection.value());
}

CmEnd* Gsi::FindEnd(const CmRaisedEvent& raised) const {
  return raised.type >= CmEventType::kSidrRequest ? FindIn(exchanges_, raised.sidr)
                                                  : FindIn(connections_, raised.connection);
}

void Gsi::Raise(const CmRaisedEvent& raised, Time now) {
  const bool is_request =
      raised.type == CmEventType::kConnectRequest || raised.type == CmEventType::kSidrRequest;
  if (is_request) return RaiseRequest(raised, now);
  const auto event = EventOf(raised);
  CHECK(event.has_value());
  Count(*event);
  if (CmEnd* const end = FindEnd(raised)) return end->queue->Raise(*end, *event);
  // Of a request that is not taken yet the first one counts: it is over then.
  const auto untaken = untaken_.find(RequestIdOf(raised));
  if (untaken != untaken_.end() && !untaken->second.held) untaken->second.held = event;
}

void Gsi::RaiseRequest(const CmRaisedEvent& raised, Time now) {
  auto event = EventOf(raised);
  std::optional<transport::CmListenAddress> at;
  if (event) {
    const auto service = raised.type == CmEventType::kConnectRequest
                             ? std::get<wire::CmReq>(*raised.message).service_id
                             : std::get<wire::CmSidrReq>(*raised.message).service_id;
    at = manager_->FindListener(service, raised.peer.local);
  }
  CmEnd* const listener = at ? FindIn(listeners_, *at) : nullptr;
  if (listener == nullptr) return Refuse(raised, now);
  event->request = RequestIdOf(raised);
  untaken_.emplace(event->request, Untaken{.listener = listener});
  if (raised.type == CmEventType::kConnectRequest) {
    slow_answers_.push_back({.at = now + kSlowAnswer, .connection = raised.connection});
  }
  Count(*event);
  listener->queue->Raise(*listener, *event);
}

// A request without the addresses that a service of IP ports has.
void Gsi::Refuse(const CmRaisedEvent& raised, Time now) {
  transport::CmStep step = StepAt(now);
  if (raised.type == CmEventType::kConnectRequest) {
    static_cast<void>(
        manager_->Reject(raised.connection, {.reason = wire::CmRejectReason::kUnsupported}, step));
  } else {
    static_cast<void>(
        manager_->sidr().Answer(raised.sidr, {.status = wire::CmSidrStatus::kRejected}, step));
  }
}

void Gsi::Count(const CmEvent& event) {
  switch (event.type) {
    case CmEventType::kConnectRequest:
    case CmEventType::kSidrRequest:
      ++counters_.requests_received;
      break;
    case CmEventType::kConnectResponse:
      break;
    case CmEventType::kEstablished:
    case CmEventType::kSidrResponse:
      ++counters_.established;
      break;
    case CmEventType::kRejected:
      ++counters_.rejected_by_peers;
      break;
    case CmEventType::kUnreachable:
    case CmEventType::kSidrUnreachable:
      ++counters_.unreachable;
      break;
    case CmEventType::kDisconnected:
      ++counters_.disconnected;
      break;
    case CmEventType::kTimewaitExit:
    case CmEventType::kPosted:
      break;
  }
}

CmUseCounters Gsi::counters() const {
  CmUseCounters counters = counters_;
  if (manager_ == nullptr) return counters;
  const transport::CmCounters& of_manager = manager_->counters();
  counters.retransmissions = of_manager.retransmissions;
  counters.malformed = of_manager.malformed;
  counters.refused_no_listener = of_manager.refused_no_listener;
  counters.refused_full =
      of_manager.refused_backlog + of_manager.refused_half_open + of_manager.refused_full;
  counters.refused_stale = of_manager.refused_stale;
  return counters;
}

bool Gsi::IsConsistent() const {
  const bool is_started = manager_ != nullptr && ports_ != nullptr;
  if (!is_started) return ends_.empty() && !has_datagrams();
  const size_t named = connections_.size() + exchanges_.size() + listeners_.size();
  return named <= ends_.size() && manager_->IsConsistent() && outbox_.events.empty();
}

}  // namespace verbena::adapter
