// Runs writes or reads over a reliable connection between two queue pairs of one process while
// callgrind counts instructions: post, both state machines, the copies to and from the link, poll.
// The ICRC, which the transmitter computes, is not included. See tools/bench.py.
//
//   valgrind --tool=callgrind --collect-atstart=no rc_count write|read BYTES BATCH CALLS

#include <valgrind/callgrind.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/check.h"
#include "memory/copy/signal_guard.h"
#include "tests/support/rc_node.h"
#include "tests/support/rc_requests.h"
#include "transport/common/packet_bytes.h"
#include "wire/roce/packet.h"

namespace verbena::bench {
namespace {

using scenario::RcEnd;
using scenario::RcNode;
using scenario::RcSpec;

constexpr size_t kPages = 256;

RcSpec SpecOfEnd() {
  RcSpec spec;
  spec.config.path_mtu = 4096;
  spec.config.max_rd_atomic = spec.config.max_dest_rd_atomic = 16;
  spec.sends.capacity = 64;
  spec.completions = 256;
  return spec;
}

// Two ends of a link without loss or delay.
class PerfectLink {
 public:
  PerfectLink()
      : a_(node_a_, SpecOfEnd(), QpNumber(1), QpNumber(2)),
        b_(node_b_, SpecOfEnd(), QpNumber(2), QpNumber(1)) {
    memory::SignalGuard::Install();
    for (RcEnd* const end : {&a_, &b_}) {
      end->qp->BecomeReadyToReceive(Psn(0));
      end->qp->BecomeReadyToSend(Psn(0));
    }
  }

  // A writes to B or reads from B: posts `count` signaled requests, moves packets until they have
  // completed, and polls.
  void Transfer(queue::SendOpcode opcode, uint32_t length, uint32_t count) {
    const Sge sge = node_a_.Local(0, length);
    const queue::SendWqe wqe = scenario::RequestOf(0, opcode, node_b_.Remote(0));
    for (uint32_t i = 0; i < count; ++i) {
      CHECK(a_.send_queue.Post({.wqe = wqe, .sges = {&sge, 1}}).has_value());
    }
    for (size_t done = 0; done < count;) {
      Move(a_, b_);
      Move(b_, a_);
      done += a_.send_cq.Poll(completions_).value();
    }
  }

  // The first failure ends the connection and flushes what follows, so the last poll shows any
  // failure.
  [[nodiscard]] bool succeeded() const {
    return completions_[0].status == CompletionStatus::kSuccess;
  }

 private:
  void Move(RcEnd& from, RcEnd& to) {
    transport::Step step{now_, from.node.core, from.node.outbox};
    from.qp->Run(step);
    transport::Step peer{now_, to.node.core, to.node.outbox};
    for (const transport::OutPacket& packet : from.node.outbox.packets()) {
      const auto bytes = std::span(wire_).first(transport::WireSizeOf(packet));
      CHECK(!transport::WritePacket(packet, bytes).has_value());
      const auto parsed = wire::Packet::Parse(bytes);
      CHECK(parsed.has_value());
      to.qp->OnPacket(*parsed, peer);
    }
    from.node.outbox.Clear();
  }

  RcNode node_a_{kPages}, node_b_{kPages};
  RcEnd a_, b_;
  Time now_{Seconds(1)};
  std::array<Completion, 32> completions_;
  std::array<std::byte, 8192> wire_;
};

bool Run(std::string_view operation, uint32_t bytes, uint32_t batch, unsigned long calls) {
  const bool writes = operation == "write";
  if (!writes && operation != "read") return false;
  if (bytes == 0 || bytes > kPages * RcNode::kPage || batch == 0 || calls % batch != 0) {
    return false;
  }
  const auto opcode = writes ? queue::SendOpcode::kWrite : queue::SendOpcode::kRead;
  PerfectLink link;
  for (int i = 0; i < 100; ++i) link.Transfer(opcode, bytes, batch);
  CALLGRIND_TOGGLE_COLLECT;
  for (unsigned long i = 0; i < calls; i += batch) link.Transfer(opcode, bytes, batch);
  CALLGRIND_TOGGLE_COLLECT;
  CHECK(link.succeeded());
  return true;
}

}  // namespace
}  // namespace verbena::bench

int main(int argc, char** argv) {
  const auto number = [&](int i) { return std::strtoul(argv[i], nullptr, 10); };
  if (argc != 5 || !verbena::bench::Run(argv[1], static_cast<uint32_t>(number(2)),
                                        static_cast<uint32_t>(number(3)), number(4))) {
    std::fprintf(stderr,
                 "usage: rc_count write|read BYTES BATCH CALLS, a multiple of BATCH calls\n");
    return 2;
  }
  return 0;
}
