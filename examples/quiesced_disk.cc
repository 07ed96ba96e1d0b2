// A program reads a block from a disk node: it sends a command, the disk writes the block into the
// program's memory by RDMA and sends a reply, all of it in one region. At each moment in between
// the host wants the memory of the region.
//
// Only the program knows that its command will be followed by an RDMA and a reply. It counts three
// operations, and the host gets the memory when the third has ended: never too early.
//
//   quiesced_disk                     the program counts
//   quiesced_disk --count-by-adapter  the adapter does: it sees nothing under way between the
//                                     command and the RDMA, and the memory is taken too early. The
//                                     RDMA then waits until it is back. Ends with 1.

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "adapter/control/guest_control.h"
#include "base/clock.h"
#include "examples/support/endpoint.h"
#include "verbs/memory_objects.h"

namespace {

using examples::Endpoint;
using examples::Must;
using verbena::adapter::GuestControl;
using verbena::adapter::GuestEvent;
using verbena::adapter::QuiesceState;

constexpr uint64_t kPage = 4'096, kBytes = 16 * kPage;
constexpr uint64_t kCommand = 0, kReply = kPage, kBlock = 2 * kPage;
constexpr uint8_t kContents = 0xD5;

constexpr std::array kMoments{"before the command",
                              "after the command was sent",
                              "after the disk has received it",
                              "after the RDMA of the disk",
                              "after the reply has arrived",
                              "after the program has seen the reply"};
constexpr size_t kFirstUnderWay = 1, kLastUnderWay = 4;

// The host, as its agent in the program's process sees it: it wants the memory of a region now and
// then, takes it when it may, and gives it back to whatever waits for it.
class Host {
 public:
  explicit Host(const verbena::MemoryRegion& region)
      : control_(region.object()->control()), region_(region.l_key()) {}

  void Want() {
    const auto state = control_.QuiesceRegion(region_, {}, verbena::Seconds(20));
    if (Must(state) == QuiesceState::kQuiet) Take();
  }
  void Serve() {
    for (const GuestEvent& event : control_.TakeEvents(verbena::Now())) {
      if (event.kind == GuestEvent::Kind::kQuiet) Take();
      if (event.kind == GuestEvent::Kind::kAwaited) GiveBack();
    }
  }
  void GiveBack() {
    if (std::exchange(has_it_, false)) Must(control_.SwapInRegion(region_));
  }
  // Whether it has had the memory since the last call.
  [[nodiscard]] bool TookIt() { return std::exchange(took_it_, false); }

 private:
  void Take() {
    Must(control_.SwapOutRegion(region_));
    took_it_ = has_it_ = true;
  }

  GuestControl& control_;
  const verbena::Key region_;
  bool took_it_ = false;
  bool has_it_ = false;
};

// The program, with its region, and the disk node.
class Exchange {
 public:
  explicit Exchange(bool program_counts) : program_counts_(program_counts) {
    const verbena::Gid here = *verbena::ParseGid("127.0.0.1");
    const verbena::QpAddress program{program_.qp.number(), here};
    const verbena::QpAddress disk{disk_.qp.number(), here};
    Must(program_.qp.Connect(program, disk));
    Must(disk_.qp.Connect(disk, program));
    std::memset(buffer_.data() + kPage, kContents, kPage);
  }

  // One read of a block; the host wants the memory at this moment. False if it had the memory while
  // the read was under way.
  bool Run(size_t moment) {
    bool is_early = false;
    bool is_taken = false;
    std::memset(memory_.bytes().data() + kBlock, 0, kPage);
    for (size_t step = 0; step < kMoments.size(); ++step) {
      Do(step);
      if (step == moment) host_.Want();
      const bool is_under_way = step >= kFirstUnderWay && step <= kLastUnderWay;
      if (!host_.TookIt()) continue;
      is_taken = true;
      is_early = is_early || is_under_way;
    }
    host_.GiveBack();
    const bool is_whole = memory_.bytes()[kBlock + kPage - 1] == static_cast<std::byte>(kContents);
    std::printf("%-38s %s%s\n", kMoments[moment],
                is_early ? "the memory is taken TOO EARLY" : "the memory is taken when it may be",
                is_whole ? "" : ", and the block is wrong");
    if (!is_whole || !is_taken) std::exit(EXIT_FAILURE);
    return !is_early;
  }

 private:
  void Do(size_t step) {
    const verbena::RemoteAddress block = region_.Remote(kBlock);
    switch (step) {
      case 1:
        Must(disk_.qp.Post(verbena::Receive{.data = disk_region_.Local(0, kPage)}));
        Begin();
        Must(program_.qp.Post(verbena::Receive{.data = region_.Local(kReply, kPage)}));
        Must(program_.qp.Post(verbena::Send{.data = region_.Local(kCommand, kPage)}));
        return Await(program_);
      case 2:
        return Await(disk_);
      case 3:
        Must(disk_.qp.Post(
            verbena::Write{.data = disk_region_.Local(kPage, kPage), .remote = block}));
        return Await(disk_);
      case 4:
        Must(disk_.qp.Post(verbena::Send{.data = disk_region_.Local(kPage, kPage)}));
        Await(disk_);
        return Await(program_);
      case 5:
        return End();
      default:
        return;
    }
  }

  // Three operations: the command, the disk's RDMA, and its reply.
  void Begin() {
    if (!program_counts_) return;
    while (!io_.Begin(3)) {
      static_cast<void>(io_.Wait(std::chrono::milliseconds(1)));
      host_.Serve();
    }
  }
  void End() {
    if (program_counts_) Must(io_.End(3));
    host_.Serve();
  }

  void Await(const Endpoint& end) {
    verbena::Completion completion;
    while (end.cq.Poll({&completion, 1}).value_or(0) == 0) host_.Serve();
    if (completion.ok()) return;
    std::fprintf(stderr, "an operation has failed: %s\n", NameOf(completion.status));
    std::exit(EXIT_FAILURE);
  }

  const bool program_counts_;
  Endpoint program_;
  verbena::ManagedMemory memory_ =
      Must(verbena::ManagedMemory::Create(program_.context, {.size = kBytes, .budget = kBytes}));
  verbena::MemoryRegion region_ = Must(verbena::MemoryRegion::Register(
      program_.domain, memory_.bytes(), verbena::Access::kAll, {.current_io = program_counts_}));
  const verbena::RegionIo io_ = region_.current_io();
  Host host_{region_};

  Endpoint disk_;
  std::array<std::byte, 2 * kPage> buffer_{};
  verbena::MemoryRegion disk_region_ = disk_.Register(buffer_, verbena::Access::kAll);
};

}  // namespace

int main(int argc, char** argv) {
  const bool adapter_counts = argc > 1 && std::string_view(argv[1]) == "--count-by-adapter";
  if (argc > (adapter_counts ? 2 : 1)) {
    std::fprintf(stderr, "usage: quiesced_disk [--count-by-adapter]\n");
    return 2;
  }
  Exchange exchange(!adapter_counts);
  bool is_well = true;
  for (size_t moment = 0; moment < kMoments.size(); ++moment) {
    is_well = exchange.Run(moment) && is_well;
  }
  return is_well ? EXIT_SUCCESS : EXIT_FAILURE;
}
