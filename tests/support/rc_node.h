#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "base/check.h"
#include "memory/memory_core.h"
#include "queue/completion_queue.h"
#include "queue/shared_receive_queue.h"
#include "queue/tag_matcher.h"
#include "queue/work_queue.h"
#include "tests/support/pages.h"
#include "transport/common/outbox.h"
#include "transport/common/refusal_counters.h"
#include "transport/rc/rc_qp.h"

namespace verbena::scenario {

using Bytes = std::vector<std::byte>;

// A machine: the tables of its adapter, and some pages of real memory in one region with all access
// rights, whose pages are all present. Addresses in work requests start at kBase, so that packets
// contain no pointers and runs are repeatable. One thread.
class RcNode {
 public:
  static constexpr uint64_t kBase = 0x100000;
  static constexpr uint64_t kPage = memory::PagesForTest::kPage;

  explicit RcNode(size_t pages, const memory::MemoryOptions& options = {})
      : core(options), arena(pages) {
    pd = *core.domains.Allocate(*core.consumers.Open({}));
    const auto made = Register(
        {.pd = pd, .start = KeyAddress(kBase), .length = arena.size(), .rights = Access::kAll}, 0);
    CHECK(made.has_value());
    keys = *made;
    PageIn(0, pages);
  }

  // Registers another region over the memory, from `offset` on. Its pages are absent.
  memory::MemoryResult<memory::RegionKeys> Register(const memory::RegionSpec& spec,
                                                    uint64_t offset) {
    return core.regions.Register(spec, memory::LinearBacking{Physical(offset)});
  }

  [[nodiscard]] std::byte* At(uint64_t offset) const { return arena.data() + offset; }
  [[nodiscard]] memory::PhysicalAddress Physical(uint64_t offset) const {
    return memory::PhysicalAddress(reinterpret_cast<uintptr_t>(At(offset)));
  }
  [[nodiscard]] Bytes Read(uint64_t offset, size_t size) const {
    return {At(offset), At(offset) + size};
  }
  void Fill(uint64_t offset, size_t size, uint8_t value) const {
    std::memset(At(offset), value, size);
  }
  [[nodiscard]] uint64_t WordAt(uint64_t offset) const {
    uint64_t word = 0;
    std::memcpy(&word, At(offset), sizeof word);
    return word;
  }
  void SetWord(uint64_t offset, uint64_t word) const {
    std::memcpy(At(offset), &word, sizeof word);
  }

  [[nodiscard]] Sge Local(uint64_t offset, uint64_t length) const {
    return {kBase + offset, static_cast<uint32_t>(length), keys.local};
  }
  [[nodiscard]] RemoteAddress Remote(uint64_t offset) const { return Remote(offset, keys.remote); }
  [[nodiscard]] static RemoteAddress Remote(uint64_t offset, Key key) {
    return {kBase + offset, key};
  }

  // Marks pages absent, as if the system had swapped them out, and present again. Contents stay.
  void Evict(uint64_t first_page, uint64_t count = 1) {
    const uint64_t first = Physical(first_page * kPage).value();
    core.InvalidateMachine(memory::MachineAddress(first),
                           memory::MachineAddress(first + count * kPage - 1));
  }
  void PageIn(uint64_t first_page, uint64_t count = 1) {
    CHECK(core.regions.MapPages(keys.local, first_page, count, {}, true).has_value());
  }

  memory::MemoryCore core;
  memory::PdId pd;
  memory::PagesForTest arena;
  memory::RegionKeys keys;
  transport::Outbox outbox{64};
  RefusalCounters refusals;
};

// The options of one end of a connection. RcNet::Connect sets the QP numbers.
struct RcSpec {
  static transport::RcConfig DefaultConfig() {
    transport::RcConfig config;
    config.path_mtu = 1024;
    config.ack_timeout = Milliseconds(10);
    config.min_rnr_timer = wire::RnrTimerAtLeast(Microseconds(100));
    config.max_rd_atomic = config.max_dest_rd_atomic = 4;
    config.registration = RegistrationMode::kAnticipatory;
    config.remote_rights = Access::kRemote;
    return config;
  }

  transport::RcConfig config = DefaultConfig();
  Psn first_psn{0x100};  // of the packets that it sends
  queue::WorkQueueLimits sends{.capacity = 32, .sges_max = 12, .inline_max = 64, .pages_max = 8};
  queue::WorkQueueLimits receives{.capacity = 32, .sges_max = 2};
  size_t completions = 128;  // capacity of each of the two completion queues
  queue::SharedReceiveQueue* shared = nullptr;
  std::optional<memory::PdId> shared_pd = {};  // of the SRQ, if not the machine's default
  queue::TagMatcher* tags = nullptr;           // of the SRQ
  std::optional<memory::PdId> pd = {};         // if not the machine's default
};

// One end of a connection: a queue pair with its queues. Owned by an RcNet. One thread.
struct RcEnd {
  RcEnd(RcNode& on, const RcSpec& spec, QpNumber own, QpNumber peer)
      : node(on),
        number(own),
        send_queue(spec.sends),
        receive_queue(spec.receives),
        send_cq(spec.completions),
        receive_cq(spec.completions) {
    transport::RcConfig config = spec.config;
    config.local_qp = own;
    config.remote_qp = peer;
    who = config.who = {spec.pd.value_or(on.pd), own};
    const auto source =
        spec.shared != nullptr
            ? transport::ReceiveSource(*spec.shared, spec.shared_pd.value_or(on.pd), spec.tags)
            : transport::ReceiveSource(receive_queue);
    qp = std::make_unique<transport::RcQp>(config, send_queue, source, send_cq, receive_cq);
  }

  [[nodiscard]] std::vector<Completion> Sent() { return Poll(send_cq); }
  [[nodiscard]] std::vector<Completion> Received() { return Poll(receive_cq); }
  [[nodiscard]] const transport::Requester::Counters& counters() const {
    return qp->requester_counters();
  }

  RcNode& node;
  QpNumber number;
  memory::Accessor who;
  queue::SendQueue send_queue;
  queue::ReceiveQueue receive_queue;
  queue::CompletionQueue send_cq;
  queue::CompletionQueue receive_cq;
  std::unique_ptr<transport::RcQp> qp;

  // State of the RcNet.
  Time wake_at = Time::Never();
  bool is_dirty = false;

 private:
  static std::vector<Completion> Poll(queue::CompletionQueue& cq) {
    std::vector<Completion> completions(cq.capacity());
    completions.resize(cq.Poll(completions).value_or(0));
    return completions;
  }
};

}  // namespace verbena::scenario
