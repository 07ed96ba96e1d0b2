// Feeds the GSI of a process with datagrams from the network, calls and time. Its ids must stay
// consistent, and after all are destroyed and all timers have expired nothing may be left.
//
// An input is a sequence of steps: one byte, and possibly some bytes of arguments.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "adapter/cm/cm_values.h"
#include "adapter/cm/gsi.h"
#include "base/check.h"
#include "base/event_file.h"
#include "base/time.h"
#include "fuzz/cm_input.h"
#include "tests/support/test_ports.h"

namespace {

using namespace verbena;
using namespace verbena::adapter;
using fuzz::Input;

const IpAddress kOwn = IpAddress::FromIpv4(10, 0, 0, 1);
const IpAddress kAny = IpAddress::FromIpv4(0, 0, 0, 0);
constexpr std::size_t kEndsMax = 16;

GsiOptions Options() {
  GsiOptions options;
  options.ports.ports.first = kFirstTestPort;
  options.number = QpNumber(0x5001);
  return options;
}

class World {
 public:
  explicit World(Input input) : input_(input) { Bind(); }

  void Run() {
    while (!input_.empty()) {
      OneStep();
      DrainOutbox();
    }
    while (!ends_.empty()) Destroy(0);
    while (gsi_.next_time() != Time::Never()) {
      now_ = std::max(now_, gsi_.next_time());
      gsi_.OnTime(now_);
      DrainOutbox();
    }
    CHECK(!queue_.TryWait().has_value());
  }

 private:
  // The engine does this after each call.
  void DrainOutbox() {
    gsi_.OnMailbox(now_);
    for (const transport::CmDatagram& datagram : gsi_.datagrams()) RecordIds(datagram.mad);
    gsi_.datagrams().clear();
    CHECK(gsi_.IsConsistent());
    while (const auto event = queue_.TryWait()) {
      const bool is_request =
          event->type == CmEventType::kConnectRequest || event->type == CmEventType::kSidrRequest;
      if (!is_request || ends_.size() >= kEndsMax) continue;
      const auto end = gsi_.Take(*event, queue_, nullptr);
      if (end) ends_.push_back(*end);
    }
  }

  // Records the ids that the peer has received.
  void RecordIds(const wire::CmMad& mad) {
    std::visit(
        [&](const auto& message) {
          if constexpr (requires { message.local_comm_id; }) ours_ = message.local_comm_id;
        },
        mad.message);
  }

  void Bind() {
    if (ends_.size() >= kEndsMax) return;
    CmEnd* const end = *gsi_.Create(queue_, PortSpace::kTcp, nullptr);
    ends_.push_back(end);
    if (gsi_.Bind(*end, {.ip = kAny, .port = port_}, false, false)) port_ = end->local.port;
  }
  void Destroy(std::size_t which) {
    gsi_.Destroy(*ends_[which], now_);
    ends_.erase(ends_.begin() + static_cast<std::ptrdiff_t>(which));
  }
  CmEnd* SomeEnd() { return ends_.empty() ? nullptr : ends_[input_.Byte() % ends_.size()]; }

  // A request with the addresses that a service of IP ports needs.
  wire::CmMessage SomeRequest() {
    ConnectionParameters parameters;
    parameters.qp = fuzz::SomeQp(input_);
    const wire::IpCmHeader addresses{.source_port = 9, .source = kOwn, .destination = kOwn};
    wire::CmReq req = RequestOf(parameters, {PortSpace::kTcp, port_}, addresses);
    req.local_comm_id = wire::CommId(1U + input_.Byte() % 4U);
    return req;
  }
  void Receive() {
    const IpAddress from = fuzz::SomeAddress(input_);
    const wire::ServiceId service = wire::ServiceIdOf({PortSpace::kTcp, port_});
    const auto message = input_.Byte() % 2 == 0 ? SomeRequest()
                                                : fuzz::SomeMessage(
                                                      input_, [this] { return ours_; }, service);
    gsi_.OnMad(fuzz::SomeMad(input_, message), {from, kOwn, QpNumber(0x6001U + input_.Byte() % 2U)},
               now_);
  }

  void Connect(CmEnd& end) {
    ConnectionParameters parameters;
    parameters.qp = fuzz::SomeQp(input_);
    parameters.service = input_.Byte() % 4 == 0 ? CmService::kUd : CmService::kRc;
    (void)gsi_.Connect(end, kOwn, {.ip = fuzz::SomeAddress(input_), .port = 7}, parameters, now_);
  }

  void Accept(CmEnd& end) {
    ConnectionParameters parameters;
    parameters.qp = fuzz::SomeQp(input_);
    (void)gsi_.Accept(end, parameters, now_);
  }

  void OneStep() {
    CmEnd* const end = SomeEnd();
    const unsigned step = input_.Byte() % 12;
    if (step == 0) return Bind();
    if (step == 1) {
      now_ = now_ + Milliseconds(input_.Byte());
      return gsi_.OnTime(now_);
    }
    if (step >= 8 || end == nullptr) return Receive();
    if (step == 2) return (void)gsi_.Listen(*end, 4, now_);
    if (step == 3) return Connect(*end);
    if (step == 4) return Accept(*end);
    if (step == 5) return (void)gsi_.Reject(*end, {}, input_.Byte(), now_);
    if (step == 6) return (void)gsi_.Disconnect(*end, {}, now_);
    Destroy(static_cast<std::size_t>(std::ranges::find(ends_, end) - ends_.begin()));
  }

  Input input_;
  Time now_ = Time(Seconds(1));
  CmEventQueue queue_{std::move(*EventFile::Open(true))};
  Gsi gsi_{Options()};
  std::vector<CmEnd*> ends_;
  uint16_t port_ = 0;     // of the first id: later ids bind the same port
  wire::CommId ours_{1};  // the last id that was sent
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  World(Input({data, size})).Run();
  return 0;
}
