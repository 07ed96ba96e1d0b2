// Any datagrams, calls and times into a live connection manager: it stays consistent, and when all
// its timers have run out nothing remains but what is established.
//
// An input is a sequence of steps of one byte each, which some bytes more may follow.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/time.h"
#include "transport/cm/cm_manager.h"

namespace {

using namespace verbena;
using namespace verbena::transport;

constexpr wire::ServiceId kService{1};

// Takes an input apart; zeros follow its end.
class Input {
 public:
  explicit Input(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  uint8_t Byte() {
    if (bytes_.empty()) return 0;
    const uint8_t byte = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return byte;
  }

 private:
  std::span<const uint8_t> bytes_;
};

class World {
 public:
  explicit World(Input input) : input_(input) { CHECK(manager_.Listen(kService, 4).has_value()); }

  void Run() {
    while (!input_.empty()) {
      OneStep();
      for (const CmRaisedEvent& event : outbox_.events) Remember(event.connection);
      outbox_.Clear();
      CHECK(manager_.IsConsistent());
    }
    for (const wire::CommId id : ids_) (void)manager_.Destroy(id, step_);
    while (manager_.next_time() != Time::Never()) {
      step_.now = std::max(step_.now, manager_.next_time());
      manager_.OnTime(step_);
      outbox_.Clear();
    }
    CHECK(manager_.connection_count() == 0 && manager_.half_open_count() == 0);
    CHECK(manager_.sidr().size() == 0);
  }

 private:
  void Remember(wire::CommId id) {
    if (id != wire::CommId() && std::ranges::find(ids_, id) == ids_.end()) ids_.push_back(id);
  }
  wire::CommId SomeId() {
    return ids_.empty() ? wire::CommId(1) : ids_[input_.Byte() % ids_.size()];
  }
  IpAddress SomeAddress() {
    return IpAddress::FromIpv4(Ipv4Address(0x0A000001U + input_.Byte() % 2U));
  }
  QpNumber SomeQp() { return QpNumber(16U + input_.Byte() % 8U); }

  // Few ids, QPs and timeouts, so that messages meet connections.
  wire::CmMessage SomeMessage() {
    const wire::CommId theirs(1U + input_.Byte() % 4U);
    const wire::CommId ours = SomeId();
    const auto small = static_cast<uint8_t>(input_.Byte() % 4);
    const wire::CmTimeout timeout(small);
    switch (input_.Byte() % 11) {
      case 0:
        return wire::CmReq{.local_comm_id = theirs,
                           .service_id = kService,
                           .local_qp = SomeQp(),
                           .remote_response_timeout = timeout,
                           .local_response_timeout = timeout,
                           .path_mtu = wire::CmMtu(small),
                           .max_cm_retries = small};
      case 1:
        return wire::CmRep{.local_comm_id = theirs, .remote_comm_id = ours, .local_qp = SomeQp()};
      case 2:
        return wire::CmRtu{.local_comm_id = theirs, .remote_comm_id = ours};
      case 3:
        return wire::CmRej{.local_comm_id = theirs,
                           .remote_comm_id = small == 0 ? wire::CommId() : ours,
                           .rejected = static_cast<wire::CmSubject>(input_.Byte() % 3),
                           .info_length = 8,
                           .reason = static_cast<wire::CmRejectReason>(input_.Byte() % 16)};
      case 4:
        return wire::CmMra{.local_comm_id = theirs,
                           .remote_comm_id = ours,
                           .received = static_cast<wire::CmSubject>(input_.Byte() % 3),
                           .service_timeout = timeout};
      case 5:
        return wire::CmDreq{.local_comm_id = theirs, .remote_comm_id = ours, .remote_qp = SomeQp()};
      case 6:
        return wire::CmDrep{.local_comm_id = theirs, .remote_comm_id = ours};
      case 7:
        return wire::CmLap{.local_comm_id = theirs, .remote_comm_id = ours};
      case 8:
        return wire::CmSidrReq{.request_id = wire::SidrRequestId(small), .service_id = kService};
      case 9:
        return wire::CmSidrRep{.request_id = wire::SidrRequestId(ours.value())};
      default:
        return wire::CmApr{.local_comm_id = theirs, .remote_comm_id = ours};
    }
  }

  void Receive() {
    const IpAddress from = SomeAddress();
    auto bytes = wire::CmMad{{}, SomeMessage()}.ToBytes();
    if (input_.Byte() % 8 == 0) {
      const std::size_t at = input_.Byte();
      bytes[at] ^= static_cast<std::byte>(input_.Byte());
    }
    manager_.OnDatagram(bytes, from, step_);
  }

  void Connect() {
    const wire::CmReq req{.local_qp = SomeQp(), .path_mtu = wire::CmMtu(3), .max_cm_retries = 2};
    const auto id = manager_.Connect(req, SomeAddress(), step_);
    if (id) Remember(*id);
  }

  void OneStep() {
    switch (input_.Byte() % 10) {
      case 0:
        return Connect();
      case 1:
        return (void)manager_.Accept(SomeId(), {.local_qp = SomeQp()}, step_);
      case 2:
        return (void)manager_.Reject(SomeId(), {}, step_);
      case 3:
        return (void)manager_.Establish(SomeId(), {}, step_);
      case 4:
        return (void)manager_.Disconnect(SomeId(), {}, step_);
      case 5:
        return (void)manager_.SendMra(SomeId(), {}, step_);
      case 6:
        return (void)manager_.Destroy(SomeId(), step_);
      case 7:
        step_.now += Milliseconds(input_.Byte());
        while (manager_.OnTime(step_)) {
        }
        return;
      default:
        return Receive();
    }
  }

  Input input_;
  CmManager manager_{{.connections_max = 8, .half_open_max = 4, .sidr_max = 4}};
  CmOutbox outbox_;
  CmStep step_{Time(), outbox_};
  std::vector<wire::CommId> ids_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  World(Input({data, size})).Run();
  return 0;
}
