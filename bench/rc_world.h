#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"
#include "memory/copy/copier.h"
#include "memory/copy/signal_guard.h"
#include "transport/rc/rc_qp.h"

namespace verbena::bench {

// One end of a reliable connection, with a region of 1 MiB that is all there.
class RcNode {
 public:
  static constexpr uint64_t kArena = uint64_t{1} << 20;

  RcNode(uint32_t number, uint32_t path_mtu)
      : arena_(static_cast<std::byte*>(std::aligned_alloc(4096, kArena)), &std::free),
        send_queue_({.capacity = 64, .sges_max = 2, .inline_max = 0, .pages_max = 0}),
        receive_queue_({.capacity = 64, .sges_max = 1}),
        cq_(256),
        outbox_(64) {
    using memory::Rights;
    std::memset(arena_.get(), 1, kArena);
    const auto pd = *core_.domains.Allocate(*core_.consumers.Open({}));
    const memory::RegionSpec spec{
        .pd = pd,
        .start = memory::KeyAddress(address()),
        .length = kArena,
        .rights = Rights::kLocalRead | Rights::kLocalWrite | Rights::kRemote};
    keys_ =
        *core_.regions.Register(spec, memory::LinearBacking{memory::PhysicalAddress(address())});
    CHECK(core_.regions.MapPages(keys_.local, 0, kArena / 4096, {}, true).has_value());
    transport::RcConfig config;
    config.local_qp = wire::QpNumber(number);
    config.remote_qp = wire::QpNumber(3 - number);
    config.path_mtu = path_mtu;
    config.who = {pd, memory::QpNumber(number)};
    config.ack_timeout = Milliseconds(10);
    config.max_rd_atomic = config.max_dest_rd_atomic = 16;
    config.remote_rights = Rights::kRemote;
    qp_ = std::make_unique<transport::RcQp>(config, send_queue_,
                                            transport::ReceiveSource(receive_queue_), cq_, cq_);
    qp_->BecomeReadyToReceive(wire::Psn(0));
    qp_->BecomeReadyToSend(wire::Psn(0));
  }

  uint64_t address() const { return reinterpret_cast<uintptr_t>(arena_.get()); }

  memory::MemoryCore core_;
  std::unique_ptr<std::byte, decltype(&std::free)> arena_;
  memory::RegionKeys keys_;
  queue::SendQueue send_queue_;
  queue::ReceiveQueue receive_queue_;
  queue::CompletionQueue cq_;
  transport::Outbox outbox_;
  std::unique_ptr<transport::RcQp> qp_;
};

// Two ends of a perfect link. The payload is copied once onto it, as into a socket's buffer; the
// ICRC, which belongs to the transmitter, is left out.
class RcWorld {
 public:
  explicit RcWorld(uint32_t path_mtu) : a_(1, path_mtu), b_(2, path_mtu) {
    memory::SignalGuard::Install();
  }

  // A writes to B, or reads from it: posts `count` signaled requests, moves packets until they have
  // completed, and polls.
  void Write(uint32_t length, uint32_t count) {
    Transfer(queue::SendOpcode::kWrite, length, count);
  }
  void Read(uint32_t length, uint32_t count) { Transfer(queue::SendOpcode::kRead, length, count); }

  // The first failure ends the connection and flushes what follows, so the last poll tells of all.
  bool succeeded() const { return completions_[0].status == queue::CompletionStatus::kSuccess; }

 private:
  void Transfer(queue::SendOpcode opcode, uint32_t length, uint32_t count) {
    const queue::Sge sge{a_.address(), length, queue::KeyValue(a_.keys_.local.value())};
    queue::SendWqe wqe;
    wqe.opcode = opcode;
    wqe.flags.signaled = true;
    wqe.operand = queue::Remote{b_.address(), queue::KeyValue(b_.keys_.remote.value())};
    for (uint32_t i = 0; i < count; ++i) {
      CHECK(a_.send_queue_.Post({.wqe = wqe, .sges = {&sge, 1}}).has_value());
    }
    for (size_t done = 0; done < count;) {
      Move(a_, b_);
      Move(b_, a_);
      done += a_.cq_.Poll(completions_).value();
    }
  }

  void Move(RcNode& from, RcNode& to) {
    transport::Step step{now_, from.core_, from.outbox_};
    from.qp_->Run(step);
    transport::Step peer{now_, to.core_, to.outbox_};
    for (const transport::OutPacket& packet : from.outbox_.packets()) {
      std::memcpy(wire_.data(), packet.header.data(), packet.header_size);
      const auto payload = std::span(wire_).subspan(packet.header_size, packet.payload_size);
      CHECK(payload.empty() || !memory::CopyOut(payload, packet.payload).fault.has_value());
      const size_t size = packet.header_size + packet.payload_size +
                          wire::PadFor(packet.payload_size) + wire::kIcrcSize;
      const auto parsed = wire::Packet::Parse(std::span(wire_).first(size));
      CHECK(parsed.has_value());
      to.qp_->OnPacket(*parsed, peer);
    }
    from.outbox_.Clear();
  }

  RcNode a_, b_;
  Time now_{Seconds(1)};
  std::array<queue::Completion, 32> completions_;
  std::vector<std::byte> wire_ = std::vector<std::byte>(8192);
};

}  // namespace verbena::bench
