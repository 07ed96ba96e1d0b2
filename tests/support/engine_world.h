#pragma once

#include <unistd.h>

#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "adapter/loop/engine.h"
#include "odp/pager.h"
#include "tests/support/adapter_world.h"

namespace verbena::adapter {

// An engine without a progress thread, and its dependencies.
class EngineWorld : public testing::Test {
 protected:
  explicit EngineWorld(const AdapterOptions& options = TestOptions(),
                       std::unique_ptr<odp::PageService> pages = RealPages(),
                       std::unique_ptr<fabric::Fabric> fabric = OpenFabric())
      : options_(options),
        pages_(std::move(pages)),
        engine_(options_, std::move(fabric), std::move(*Alarm::Make()), events_, *pages_, clock_,
                addresses_) {
    const EngineLock lock(engine_);
    pd_ = *engine_.memory.domains.Allocate(*engine_.memory.consumers.Open({}));
  }

  static std::unique_ptr<odp::PageService> RealPages() {
    return std::make_unique<odp::Pager>(odp::PagerOptions{.threads = 1}, [] {});
  }
  static std::unique_ptr<fabric::UdpFabric> OpenFabric() {
    return std::move(*fabric::UdpFabric::Open({.endpoint = TestEndpoint()}));
  }
  // Queue pairs get consecutive numbers, so that they can refer to each other.
  static AdapterOptions SeededOptions() {
    AdapterOptions options = TestOptions();
    options.identity_seed = 1;
    return options;
  }
  template <class Condition>
  static bool Becomes(Condition condition) {
    for (const Time end = Now() + Seconds(10); Now() < end;) {
      if (condition()) return true;
      usleep(100);
    }
    return false;
  }

  // The number of the queue pair made `n` after the next one.
  QpNumber NumberAfterNext(uint32_t n) VERBENA_REQUIRES(engine_) {
    const QpNumber next = *engine_.qps.NextNumber();
    return MakeQpNumber(EndpointOf(next), NumberWithin(next) + n);
  }
  // A reliable queue pair in RTS, whose requests fail after two tries of 17 ms.
  QueuePair& MakeQp(QpNumber peer, Cq& cq) VERBENA_REQUIRES(engine_) {
    const QpInit spec{.type = QpType::kRc,
                      .pd = pd_,
                      .send_cq = &cq,
                      .receive_cq = &cq,
                      .send = {.capacity = 64, .sges_max = 1, .inline_max = 64},
                      .receive = {.capacity = 64, .sges_max = 1}};
    QueuePair& qp = engine_.AddQp(std::make_unique<QueuePair>(
        *engine_.qps.NextNumber(), spec,
        QpContext{.handles = &engine_.handles, .ports = PortsOf(options_)}));
    transport::QpSettings attributes;
    const AddressVector way{.source = TestIp("127.0.0.1"), .destination = TestIp("127.0.0.1")};
    attributes.path = *engine_.paths.Add(way);
    attributes.remote_qp = peer;
    attributes.access = Access::kAll;
    attributes.timeout = wire::AckTimeout(12);
    attributes.retry_count = transport::RetryCount(1);
    attributes.rnr_retry = transport::kRnrRetryForever;
    attributes.max_rd_atomic = attributes.max_dest_rd_atomic = transport::RdAtomicDepth(1);
    qp.set_path(way);
    for (const QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
      attributes.state = state;
      engine_.ModifyQp(qp, attributes, transport::AttributeMask::kAll);
    }
    return qp;
  }
  // A message of no bytes.
  static void PostSend(QueuePair& qp) {
    queue::SendWorkRequest request;
    request.wqe.flags.signaled = true;
    EXPECT_TRUE(qp.send_queue().Post(request).has_value());
  }

  // Sends a malformed packet to the engine.
  void SendSomething() { SendMalformed(std::as_const(engine_).fabric().port()); }
  uint64_t Malformed() {
    const EngineLock lock(engine_);
    return engine_.counters().dropped_for(Drop::kMalformed);
  }
  uint64_t Passes() {
    const EngineLock lock(engine_);
    return engine_.counters().passes;
  }

  AdapterOptions options_;
  AsyncEvents events_{16};
  SystemClock clock_;
  fabric::SystemAddresses addresses_;
  std::unique_ptr<odp::PageService> pages_;
  Engine engine_;
  memory::PdId pd_;
};

}  // namespace verbena::adapter
