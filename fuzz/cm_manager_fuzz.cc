// Feeds a connection manager with datagrams, calls and time. It must stay consistent, and after all
// timers have expired only established connections may be left.
//
// An input is a sequence of steps: one byte, and possibly some bytes of arguments.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/time.h"
#include "fuzz/cm_input.h"
#include "transport/cm/cm_manager.h"

namespace {

using namespace verbena;
using namespace verbena::transport;
using fuzz::Input;

constexpr wire::ServiceId kService{1};

class World {
 public:
  explicit World(Input input) : input_(input) { CHECK(manager_.Listen(kService, 4).has_value()); }

  void Run() {
    while (!input_.empty()) {
      OneStep();
      for (const CmRaisedEvent& event : outbox_.events) RecordId(event.connection);
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
  void RecordId(wire::CommId id) {
    if (id != wire::CommId() && std::ranges::find(ids_, id) == ids_.end()) ids_.push_back(id);
  }
  wire::CommId SomeId() {
    return ids_.empty() ? wire::CommId(1) : ids_[input_.Byte() % ids_.size()];
  }
  IpAddress SomeAddress() { return fuzz::SomeAddress(input_); }
  QpNumber SomeQp() { return fuzz::SomeQp(input_); }

  void Receive() {
    const IpAddress from = SomeAddress();
    const auto message = fuzz::SomeMessage(
        input_, [this] { return SomeId(); }, kService);
    manager_.OnDatagram(fuzz::SomeMad(input_, message), from, step_);
  }

  void Connect() {
    const wire::CmReq req{.local_qp = SomeQp(), .path_mtu = wire::CmMtu(3), .max_cm_retries = 2};
    const auto id = manager_.Connect(req, SomeAddress(), step_);
    if (id) RecordId(*id);
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
