#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.h"
#include "base/time.h"
#include "transport/cm/cm_manager.h"

namespace verbena::transport {

// A connection manager, and the events of its consumer.
struct CmEnd {
  CmEnd(uint32_t number, const CmOptions& options)
      : address(IpAddress::FromIpv4(Ipv4Address(0x0A000000 + number))),
        manager(std::make_unique<CmManager>(options)) {}

  IpAddress address;
  std::unique_ptr<CmManager> manager;
  std::vector<CmRaisedEvent> events = {};

  // The only event since the last call. Fails the test if it has another type.
  CmRaisedEvent TakeEvent(CmEventType type) {
    EXPECT_EQ(events.size(), 1u);
    if (events.empty()) return {};
    const CmRaisedEvent event = events.front();
    EXPECT_STREQ(NameOf(event.type), NameOf(type));
    events.clear();
    return event;
  }
};

// Two connection managers; the test delivers, drops and duplicates the datagrams between them.
class CmPair {
 public:
  static constexpr wire::ServiceId kService{0x0000000001061C06};

  static CmOptions DefaultOptions(uint64_t guid) {
    return {.ca_guid = wire::CaGuid(guid), .id_mask = static_cast<uint32_t>(guid * 0x01234567)};
  }

  CmPair() : CmPair(DefaultOptions(1), DefaultOptions(2)) {}
  CmPair(const CmOptions& of_a, const CmOptions& of_b) : a(1, of_a), b(2, of_b) {
    EXPECT_TRUE(b.manager->Listen(kService, 4));
  }

  static wire::CmReq Req(uint32_t qp = 0x11, std::string_view data = "hello") {
    return {.service_id = kService,
            .local_qp = QpNumber(qp),
            .remote_response_timeout = wire::CmTimeout(14),  // 67 ms
            .starting_psn = Psn(qp + 1),
            .local_response_timeout = wire::CmTimeout(15),  // 134 ms
            .path_mtu = wire::CmMtu(3),
            .max_cm_retries = 3,
            .private_data = Data<92>(data)};
  }
  static wire::CmRep Rep(uint32_t qp = 0x22, std::string_view data = "welcome") {
    return {.local_qp = QpNumber(qp), .private_data = Data<196>(data)};
  }
  template <std::size_t kSize>
  static wire::PrivateData<kSize> Data(std::string_view text) {
    return wire::PrivateData<kSize>::From(std::as_bytes(std::span(text)));
  }

  // Passes an input to an end. Its datagrams go to `wire`, its events to the end.
  template <class Call>
  auto Do(CmEnd& end, Call call) {
    CmOutbox outbox;
    CmStep step{now, outbox};
    auto result = call(*end.manager, step);
    Take(end, outbox);
    return result;
  }

  // Calls of the consumers: a sends REQs, b listens.
  Result<wire::CommId, CmError> Ask(const wire::CmReq& req = Req()) {
    return Do(a, [&](CmManager& m, CmStep& s) { return m.Connect(req, b.address, s); });
  }
  Result<void, CmError> Accept(wire::CommId id, const wire::CmRep& rep = Rep()) {
    return Do(b, [&](CmManager& m, CmStep& s) { return m.Accept(id, rep, s); });
  }
  Result<void, CmError> Establish(wire::CommId id) {
    return Do(a, [&](CmManager& m, CmStep& s) { return m.Establish(id, {}, s); });
  }
  Result<void, CmError> NotifyEstablished(wire::CommId id) {
    return Do(b, [&](CmManager& m, CmStep& s) { return m.NotifyEstablished(id, s); });
  }
  Result<void, CmError> Reject(CmEnd& end, wire::CommId id) {
    const wire::CmRej rej{.reason = wire::CmRejectReason::kConsumer,
                          .private_data = Data<148>("no")};
    return Do(end, [&](CmManager& m, CmStep& s) { return m.Reject(id, rej, s); });
  }
  Result<void, CmError> SendMra(CmEnd& end, wire::CommId id, uint8_t timeout) {
    const wire::CmMra mra{.service_timeout = wire::CmTimeout(timeout)};
    return Do(end, [&](CmManager& m, CmStep& s) { return m.SendMra(id, mra, s); });
  }
  Result<void, CmError> Disconnect(CmEnd& end, wire::CommId id, std::string_view data = "") {
    return Do(end, [&](CmManager& m, CmStep& s) { return m.Disconnect(id, Data<220>(data), s); });
  }
  Result<void, CmError> Destroy(CmEnd& end, wire::CommId id) {
    return Do(end, [&](CmManager& m, CmStep& s) { return m.Destroy(id, s); });
  }

  // Delivers the oldest datagram in flight; with `again`, a copy stays in flight.
  void Deliver(bool again = false) {
    CHECK(!wire.empty());
    const auto [from, datagram] = wire.front();
    if (!again) wire.pop_front();
    Arrive(from == &a ? b : a, from->address, datagram.mad);
  }
  void Arrive(CmEnd& to, const IpAddress& from, const wire::CmMad& mad) {
    Do(to, [&](CmManager& manager, CmStep& step) {
      manager.OnDatagram(mad.ToBytes(), from, step);
      return true;
    });
  }
  void DeliverAll() {
    while (!wire.empty()) Deliver();
  }
  // The only message in flight. Fails the test if there is another number.
  template <class Message>
  Message Sent() const {
    EXPECT_EQ(wire.size(), 1u);
    if (wire.size() != 1 || !std::holds_alternative<Message>(wire.front().second.mad.message)) {
      ADD_FAILURE() << (wire.empty() ? "nothing" : wire::ToString(wire.front().second.mad.message));
      return {};
    }
    return std::get<Message>(wire.front().second.mad.message);
  }

  // Advances the time to the next deadline of this end; false if it has none.
  bool NextTimer(CmEnd& end) {
    const Time at = end.manager->next_time();
    if (at == Time::Never()) return false;
    now = std::max(now, at);
    Do(end, [](CmManager& manager, CmStep& step) { return manager.OnTime(step); });
    return true;
  }

  // a connects to b, until both sides are established.
  std::pair<wire::CommId, wire::CommId> Connect(uint32_t qp_a = 0x11, uint32_t qp_b = 0x22) {
    const auto [of_a, of_b] = Request(Req(qp_a));
    EXPECT_TRUE(Accept(of_b, Rep(qp_b)));
    DeliverAll();
    a.TakeEvent(CmEventType::kConnectResponse);
    EXPECT_TRUE(Establish(of_a));
    DeliverAll();
    b.TakeEvent(CmEventType::kEstablished);
    return {of_a, of_b};
  }
  // a requests a connection, and b's consumer gets the event.
  std::pair<wire::CommId, wire::CommId> Request(const wire::CmReq& req = Req()) {
    const wire::CommId of_a = *Ask(req);
    DeliverAll();
    return {of_a, b.TakeEvent(CmEventType::kConnectRequest).connection};
  }

  [[nodiscard]] static CmState StateOf(CmEnd& end, wire::CommId id) {
    const CmConnection* const connection = end.manager->Find(id);
    return connection == nullptr ? CmState::kClosed : connection->state();
  }

  // Lets all timers expire without deliveries, and expects that no state is left.
  void ExpectAllEnds() {
    for (CmEnd* const end : {&a, &b}) {
      while (NextTimer(*end)) {
      }
      EXPECT_EQ(end->manager->connection_count(), 0u);
      EXPECT_EQ(end->manager->half_open_count(), 0u);
      EXPECT_EQ(end->manager->sidr().size(), 0u);
      EXPECT_TRUE(end->manager->IsConsistent());
    }
    wire.clear();
  }

  CmEnd a, b;
  Time now{};
  std::deque<std::pair<CmEnd*, CmDatagram>> wire;

 private:
  void Take(CmEnd& end, CmOutbox& outbox) {
    for (const CmDatagram& datagram : outbox.datagrams) wire.emplace_back(&end, datagram);
    end.events.insert(end.events.end(), outbox.events.begin(), outbox.events.end());
  }
};

}  // namespace verbena::transport
