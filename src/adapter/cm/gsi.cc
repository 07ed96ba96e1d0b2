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

// If the consumer has not responded by then, an MRA is sent, so that the peer does not retransmit
// its REQ: half of the response timeout of a REQ (kResponseTimeout).
constexpr Duration kSlowAnswer = Milliseconds(500);
// The service timeout of an MRA: the peer retransmits after 4.3 s, and gets the MRA again.
constexpr wire::CmTimeout kMraTimeout{20};

// A mailbox holds ten datagrams (net.unix.max_dgram_qlen), which its process reads at once if it
// runs. Up to this many more requests wait here; further ones are lost, and their senders
// retransmit them.
constexpr size_t kPendingForwardsMax = 1'024;
constexpr Duration kForwardRetry = Milliseconds(1);

// SIDR requests and connection requests have separate number ranges.
constexpr uint64_t kSidrRequests = uint64_t{1} << 32;

template <class Map, class Key>
auto FindIn(const Map& map, const Key& key) -> typename Map::mapped_type {
  const auto found = map.find(key);
  return found == map.end() ? typename Map::mapped_type{} : found->second;
}

// The service that a MAD requests, if it is a request.
std::optional<wire::IpCmService> RequestedService(std::span<const std::byte> bytes) {
  const auto mad = wire::CmMad::Parse(bytes);
  if (!mad) return std::nullopt;
  if (const auto* const req = std::get_if<wire::CmReq>(&mad->message)) {
    return wire::IpCmServiceOf(req->service_id);
  }
  if (const auto* const sidr = std::get_if<wire::CmSidrReq>(&mad->message)) {
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
  // Without descriptors for a port space the request is lost, and the peer retransmits it.
  if (!Start()) return;
  Take(mad, from, /*is_forwarded=*/false, now);
  DrainEvents(now);
}

void Gsi::Take(std::span<const std::byte, wire::kMadSize> mad, const CmPeer& from,
               bool is_forwarded, Time now) {
  ++counters_.mads_received;
  const auto service = RequestedService(mad);
  if (!service) return ToManager(mad, from, now);
  EarlyRequests::Request request{.from = from, .service = *service, .is_forwarded = is_forwarded};
  std::ranges::copy(mad, request.mad.begin());
  // Without a listener, the manager refuses it.
  if (!Offer(request, now) && !early_.Hold(request, now)) ToManager(mad, from, now);
}

void Gsi::ToManager(std::span<const std::byte, wire::kMadSize> mad, const CmPeer& from, Time now) {
  transport::CmStep step = StepAt(now);
  manager_->OnDatagram(mad, from, step);
}

// One that another process has forwarded is for this one, or for none.
bool Gsi::Offer(const EarlyRequests::Request& request, Time now) {
  if (manager_->FindListener(wire::ServiceIdOf(request.service), request.from.local)) {
    ToManager(request.mad, request.from, now);
  } else if (request.is_forwarded || !ForwardToOwner(request, now)) {
    return false;
  }
  early_.NoteListener(request.service.port, now);
  return true;
}

void Gsi::OfferAgain(Time now) {
  while (const auto held = early_.TakeDue(now)) {
    if (Offer(held->request, now) || early_.HoldAgain(*held, now)) continue;
    ToManager(held->request.mad, held->request.from, now);
  }
}

bool Gsi::ForwardToOwner(const EarlyRequests::Request& request, Time now) {
  const ForwardedMad forwarded{.service = request.service,
                               .source = request.from.address,
                               .destination = request.from.local,
                               .source_qp = request.from.gsi,
                               .mad = request.mad};
  const ForwardResult result =
      pending_forwards_.empty() ? ports_->Forward(forwarded) : ForwardResult::kFull;
  if (result == ForwardResult::kFull && pending_forwards_.size() < kPendingForwardsMax) {
    pending_forwards_.push_back(forwarded);
    if (pending_forwards_.size() == 1) retry_forwards_at_ = now + kForwardRetry;
  }
  const bool was_forwarded = result != ForwardResult::kNoListener;
  counters_.mads_forwarded += was_forwarded ? 1 : 0;
  return was_forwarded;
}

// In order. If the port has become free, the request is lost, and its sender retransmits it.
void Gsi::RetryForwards(Time now) {
  while (!pending_forwards_.empty() &&
         ports_->Forward(pending_forwards_.front()) != ForwardResult::kFull) {
    pending_forwards_.pop_front();
  }
  retry_forwards_at_ = pending_forwards_.empty() ? Time::Never() : now + kForwardRetry;
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
  if (retry_forwards_at_ <= now) RetryForwards(now);
  OfferAgain(now);
  transport::CmStep step = StepAt(now);
  if (manager_->next_time() <= now) static_cast<void>(manager_->OnTime(step));
  DrainEvents(now);
}

Time Gsi::next_time() const {
  if (manager_ == nullptr) return Time::Never();
  const Time slow = slow_answers_.empty() ? Time::Never() : slow_answers_.front().at;
  return std::min({manager_->next_time(), slow, retry_forwards_at_, early_.next_time()});
}

void Gsi::AnnounceSlowAnswers(Time now) {
  for (; !slow_answers_.empty() && slow_answers_.front().at <= now; slow_answers_.pop_front()) {
    transport::CmStep step = StepAt(now);
    // Fails if the consumer has responded.
    static_cast<void>(manager_->SendMra(slow_answers_.front().connection,
                                        {.service_timeout = kMraTimeout}, step));
  }
}

// --- Events. ---

void Gsi::DrainEvents(Time now) {
  // Refusing a request adds datagrams, but no event.
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
  // For a request that was not taken yet, the first event is kept: it ends the request.
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

// Refuses a request without the addresses that a service of IP ports needs.
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
  counters.refused_full = of_manager.refused_backlog + of_manager.refused_half_open +
                          of_manager.refused_full + of_manager.gave_way;
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
