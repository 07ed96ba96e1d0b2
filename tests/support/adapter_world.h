#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "adapter/control/adapter.h"
#include "base/clock.h"
#include "fabric/endpoints.h"
#include "fabric/udp_fabric.h"
#include "tests/support/test_ports.h"

namespace verbena::adapter {

inline uint16_t TestBasePort() { return kFirstTestPort; }

inline constexpr uint32_t kTestEndpoints = kTestPorts;

inline IpAddress TestIp(const char* text) { return *ParseIpAddress(text); }

inline AdapterOptions TestOptions() {
  AdapterOptions options;
  options.base_port = options.endpoint_base_port = TestBasePort();
  options.endpoints_max = kTestEndpoints;
  return options;
}

// Endpoint options of a fabric that is not an adapter's.
inline fabric::EndpointOptions TestEndpoint() {
  return {.ports = PortsOf(TestOptions()).ports, .count = kTestEndpoints};
}

// Sends a malformed datagram to a port of this machine.
inline void SendMalformed(uint16_t port) {
  const auto sender = std::move(*fabric::UdpFabric::Open({.endpoint = TestEndpoint()}));
  constexpr auto kLocal = IpAddress::FromIpv4(127, 0, 0, 1);
  ASSERT_TRUE(sender->Reserve({.from = kLocal, .to = {kLocal, port}}, 8).has_value());
  sender->Flush();
}

// An adapter, and memory of a program with one region: fresh pages that no thread has touched.
class TestNode {
 public:
  explicit TestNode(const char* address, uint64_t bytes = uint64_t{1} << 20,
                    const AdapterOptions& options = TestOptions())
      : address_(TestIp(address)), bytes_(bytes) {
    auto opened = Adapter::Open(options);
    if (!opened) {
      std::fprintf(stderr, "no adapter: %s\n", opened.error().text.c_str());
      std::abort();
    }
    adapter_ = std::move(*opened);
    pd_ = *adapter_->AllocatePd();
    events_ = *adapter_->CreateEventQueue();
    cq_ = *adapter_->CreateCq(4'096, nullptr, events_);
    memory_ = static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    EXPECT_NE(static_cast<void*>(memory_), MAP_FAILED);
    keys_ = *Register(Access::kAll);
  }
  TestNode(const TestNode&) = delete;
  TestNode& operator=(const TestNode&) = delete;
  ~TestNode() { munmap(memory_, bytes_); }

  ErrorOr<memory::RegionKeys> Register(Access rights) {
    return adapter_->RegisterRegion(
        {.pd = pd_, .start = KeyAddress(AddressOf(0)), .length = bytes_, .rights = rights},
        memory::LinearBacking{.base = memory::PhysicalAddress(AddressOf(0))});
  }

  Adapter& adapter() { return *adapter_; }
  void CloseAdapter() { adapter_.reset(); }
  const IpAddress& address() const { return address_; }
  memory::PdId pd() const { return pd_; }
  EventQueue& events() { return *events_; }
  Cq& cq() { return *cq_; }
  const memory::RegionKeys& keys() const { return keys_; }
  std::span<std::byte> memory() { return {memory_, bytes_}; }
  uint64_t AddressOf(uint64_t offset) const {
    return reinterpret_cast<uintptr_t>(memory_) + offset;
  }
  Sge Bytes(uint64_t offset, uint64_t length) const {
    return {AddressOf(offset), static_cast<uint32_t>(length), keys_.local};
  }
  RemoteAddress Remote(uint64_t offset) const { return {AddressOf(offset), keys_.remote}; }

  // Removes pages like munmap, but keeps the address range, so that nothing else is mapped there.
  void Unmap(uint64_t offset, uint64_t length) { Remap(offset, length, PROT_NONE); }
  // Maps fresh pages in their place.
  void MapFresh(uint64_t offset, uint64_t length) { Remap(offset, length, PROT_READ | PROT_WRITE); }

  void Fill(uint64_t offset, uint64_t length, uint8_t seed) {
    for (uint64_t i = 0; i < length; ++i) memory_[offset + i] = ByteAt(i, seed);
  }
  // Whether `length` bytes equal those that Fill writes with this seed.
  bool Holds(uint64_t offset, uint64_t length, uint8_t seed) const {
    for (uint64_t i = 0; i < length; ++i) {
      if (memory_[offset + i] != ByteAt(i, seed)) return false;
    }
    return true;
  }

  QpInit Spec(QpType type) {
    return {.type = type,
            .pd = pd_,
            .send_cq = cq_,
            .receive_cq = cq_,
            .events = events_,
            .send = {.capacity = 64, .sges_max = 4, .inline_max = 128, .pages_max = 16},
            .receive = {.capacity = 64, .sges_max = 4}};
  }
  QueuePair& MakeQp(QpType type) {
    auto made = adapter_->CreateQp(Spec(type));
    if (!made) ADD_FAILURE() << made.error().text;
    return **made;
  }

  // The next completion, from this node's queue or another; nullopt after a while.
  std::optional<Completion> Wait(Cq* cq = nullptr, Duration patience = Seconds(20)) {
    const Time end = Now() + patience;
    std::array<Completion, 1> out;
    while (Now() < end) {
      const auto count = adapter_->Poll(cq != nullptr ? *cq : *cq_, out);
      if (!count) return std::nullopt;
      if (*count > 0) return out[0];
    }
    return std::nullopt;
  }

 private:
  void Remap(uint64_t offset, uint64_t length, int protection) {
    void* const place = memory_ + offset;
    EXPECT_EQ(mmap(place, length, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
              place);
  }

  static std::byte ByteAt(uint64_t i, uint8_t seed) {
    return static_cast<std::byte>(i * 31 + (i >> 8) * 7 + seed);
  }

  const IpAddress address_;
  const uint64_t bytes_;
  std::unique_ptr<Adapter> adapter_;
  memory::PdId pd_;
  EventQueue* events_ = nullptr;
  Cq* cq_ = nullptr;
  std::byte* memory_ = nullptr;
  memory::RegionKeys keys_;
};

// Values of a connection that tests change.
struct TestLink {
  uint8_t timeout = 14;  // 67 ms
  uint8_t retry_count = 7;
  uint8_t rnr_retry = 7;
  uint8_t min_rnr_timer = 12;  // 640 us
  PathMtu mtu = PathMtu::k4096;
  uint8_t depth = 16;
};

inline constexpr QKey kTestQKey{0x11111111};
inline constexpr Psn kTestPsn(0xFFFFF0);  // wraps soon

using Attribute = transport::QpAttribute;

inline ErrorOr<void> ToInit(TestNode& node, QueuePair& qp) {
  QpChange change;
  change.attributes.state = QpState::kInit;
  change.attributes.access = Access::kRemote;
  change.attributes.q_key = kTestQKey;
  change.mask = Attribute::kState | Attribute::kPKeyIndex | Attribute::kPort;
  change.mask =
      change.mask | (qp.spec().type == QpType::kUd ? Attribute::kQKey : Attribute::kAccess);
  return node.adapter().Modify(qp, change);
}

inline ErrorOr<void> ToRtr(TestNode& node, QueuePair& qp, const AddressVector& way, QpNumber peer,
                           const TestLink& link = {}) {
  QpChange change;
  auto& a = change.attributes;
  a.state = QpState::kRtr;
  change.mask = Attribute::kState;
  if (qp.spec().type != QpType::kUd) {
    a.remote_qp = peer;
    a.path_mtu = link.mtu;
    a.rq_psn = kTestPsn;
    change.path = way;
    change.mask = change.mask | Attribute::kPath | Attribute::kPathMtu | Attribute::kRemoteQp |
                  Attribute::kRqPsn;
  }
  if (qp.spec().type == QpType::kRc || qp.spec().type == QpType::kXrcReceive) {
    a.max_dest_rd_atomic = transport::RdAtomicDepth(link.depth);
    a.min_rnr_timer = wire::RnrTimer(link.min_rnr_timer);
    change.mask = change.mask | Attribute::kMaxDestRdAtomic | Attribute::kMinRnrTimer;
  }
  return node.adapter().Modify(qp, change);
}

inline ErrorOr<void> ToRts(TestNode& node, QueuePair& qp, const TestLink& link = {}) {
  QpChange change;
  auto& a = change.attributes;
  a.state = QpState::kRts;
  a.sq_psn = kTestPsn;
  change.mask = Attribute::kState | Attribute::kSqPsn;
  if (transport::IsReliable(qp.spec().type)) {
    a.timeout = wire::AckTimeout(link.timeout);
    change.mask = change.mask | Attribute::kTimeout;
  }
  if (transport::IsReliable(qp.spec().type) && qp.spec().type != QpType::kXrcReceive) {
    a.retry_count = transport::RetryCount(link.retry_count);
    a.rnr_retry = transport::RnrRetryCount(link.rnr_retry);
    a.max_rd_atomic = transport::RdAtomicDepth(link.depth);
    change.mask =
        change.mask | Attribute::kRetryCount | Attribute::kRnrRetry | Attribute::kMaxRdAtomic;
  }
  return node.adapter().Modify(qp, change);
}

inline void Succeed(const ErrorOr<void>& result) {
  EXPECT_TRUE(result.has_value()) << result.error().text;
}

inline AddressVector PathFrom(const TestNode& from, const TestNode& to) {
  return {.source = from.address(), .destination = to.address()};
}

// Moves both queue pairs to RTS.
inline void Connect(TestNode& a, QueuePair& qa, TestNode& b, QueuePair& qb,
                    const TestLink& link = {}) {
  Succeed(ToInit(a, qa));
  Succeed(ToInit(b, qb));
  Succeed(ToRtr(a, qa, PathFrom(a, b), qb.number(), link));
  Succeed(ToRtr(b, qb, PathFrom(b, a), qa.number(), link));
  Succeed(ToRts(a, qa, link));
  Succeed(ToRts(b, qb, link));
}

inline queue::SendWqe MakeSend(queue::SendOpcode opcode, uint64_t id,
                               const queue::SendOperand& operand = {}) {
  queue::SendWqe wqe;
  wqe.id = WrId(id);
  wqe.opcode = opcode;
  wqe.flags.signaled = true;
  wqe.operand = operand;
  return wqe;
}

inline void Post(TestNode& node, QueuePair& qp, const queue::SendWqe& wqe, const Sge& bytes) {
  const auto posted = node.adapter().PostSend(qp, {.wqe = wqe, .sges = {&bytes, 1}});
  EXPECT_TRUE(posted.has_value());
}

inline void PostReceive(TestNode& node, QueuePair& qp, uint64_t id, const Sge& bytes) {
  const auto posted =
      node.adapter().PostReceive(qp, {.wqe = {.id = WrId(id)}, .sges = {&bytes, 1}});
  EXPECT_TRUE(posted.has_value());
}

}  // namespace verbena::adapter
