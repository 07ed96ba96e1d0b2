// What it costs to be ready to give memory back, and to give it back: one line for each figure.
//
//   quiesce_cost [MIB]     the size of the region that is swapped out and in; 64 if left out

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "adapter/control/guest_control.h"
#include "base/clock.h"
#include "examples/support/endpoint.h"
#include "memory/memory_core.h"
#include "verbs/memory_objects.h"

namespace {

using examples::Endpoint;
using examples::Must;
using verbena::Time;
using verbena::adapter::GuestControl;
using verbena::adapter::GuestEvent;

constexpr uint64_t kPage = 4'096, kMebibyte = uint64_t{1} << 20;

double MicrosecondsSince(Time start) {
  return static_cast<double>((verbena::Now() - start).nanoseconds()) / 1'000;
}

void Show(const char* what, double value, const char* unit) {
  std::printf("%-58s %10.2f %s\n", what, value, unit);
}

// The middle one of several runs.
template <class Run>
double Median(int runs, Run run) {
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) times.push_back(run());
  std::ranges::nth_element(times, times.begin() + runs / 2);
  return times[static_cast<size_t>(runs / 2)];
}

// A program with a region that the host may take away, and a peer that reads from it.
struct World {
  explicit World(uint64_t bytes) : size(bytes) {
    const verbena::Gid here = *verbena::ParseGid("127.0.0.1");
    const verbena::QpAddress a{program.qp.number(), here}, b{peer.qp.number(), here};
    Must(program.qp.Connect(a, b));
    Must(peer.qp.Connect(b, a));
    // Contents that do not compress, so that as much is written as by the plain file.
    uint64_t random = 88'172'645'463'325'252U;
    auto* const words = reinterpret_cast<uint64_t*>(memory.bytes().data());
    for (uint64_t i = 0; i < size / sizeof(uint64_t); ++i) {
      random ^= random << 13, random ^= random >> 7, random ^= random << 17;
      words[i] = random;
    }
  }

  GuestControl& host() const { return region.object()->control(); }
  void Await(GuestEvent::Kind kind) const {
    while (true) {
      for (const GuestEvent& event : host().TakeEvents(verbena::Now())) {
        if (event.kind == kind) return;
      }
      // As the agent does: a thread that looks all the time keeps the engine's lock from the pager.
      pollfd events{.fd = host().event_fd(), .events = POLLIN, .revents = 0};
      poll(&events, 1, 1);
    }
  }
  void SwapOut() const {
    Must(host().QuiesceRegion(region.l_key(), {}, verbena::Seconds(20)));
    Must(host().SwapOutRegion(region.l_key()));
    Await(GuestEvent::Kind::kSwappedOut);
  }
  void SwapInAll() const {
    Must(host().SwapInRegion(region.l_key(), true));
    while (host().resident_bytes() < size) usleep(100);
  }
  void Touch() const {
    for (uint64_t at = 0; at < size; at += kPage) {
      memory.bytes()[at] ^= std::byte{1};
    }
  }

  uint64_t size;
  Endpoint program, peer;
  verbena::ManagedMemory memory = Must(verbena::ManagedMemory::Create(
      program.context, {.size = size, .budget = size, .compress = false}));
  verbena::MemoryRegion region = Must(verbena::MemoryRegion::Register(
      program.domain, memory.bytes(), verbena::Access::kAll, {.current_io = true}));
  std::array<std::byte, kPage> buffer{};
  verbena::MemoryRegion local = peer.Register(buffer, verbena::Access::kAll);
};

void MeasureWord(const World& world) {
  constexpr int kRounds = 1'000'000;
  const verbena::RegionIo io = world.region.current_io();
  const double nanoseconds = Median(5, [&] {
    const Time start = verbena::Now();
    for (int i = 0; i < kRounds; ++i) {
      if (io.Begin()) static_cast<void>(io.End());
    }
    return MicrosecondsSince(start) * 1'000 / kRounds;
  });
  Show("current-I/O word, one operation begun and ended", nanoseconds, "ns");
  // What the processor needs for it: two changes that depend on what they find.
  std::atomic<uint64_t> word = 0;
  const double least = Median(5, [&] {
    const Time start = verbena::Now();
    for (int i = 0; i < kRounds; ++i) {
      uint64_t seen = word.load(std::memory_order_acquire);
      while (!word.compare_exchange_weak(seen, seen + 1)) {
      }
      while (!word.compare_exchange_weak(seen, seen - 1)) {
      }
    }
    return MicrosecondsSince(start) * 1'000 / kRounds;
  });
  Show("two compare-and-swaps of a word, and no more", least, "ns");
}

// One access to a present page, through one stage and through two.
void MeasureSecondStage() {
  using namespace verbena::memory;  // NOLINT(google-build-using-namespace): one function
  constexpr uint64_t kPages = 512;
  constexpr int kRounds = 1'000'000;
  for (const bool is_guest : {false, true}) {
    MemoryCore core;
    const GuestKey guest = is_guest ? *core.guests.Create({.memory_bytes = kPages * kPage}) : kHost;
    const ConsumerId consumer = *core.consumers.Open({});
    const PdId pd = *core.domains.Allocate(consumer);
    const auto keys = core.regions.Register({.pd = pd,
                                             .start = {},
                                             .length = kPages * kPage,
                                             .rights = verbena::Access::kAll,
                                             .zero_based = true},
                                            LinearBacking{.base = {}, .guest = guest});
    if (!keys || !core.regions.MapPages(keys->local, 0, kPages, {}, true)) std::exit(1);
    if (is_guest &&
        !core.guests.Map(guest, PhysicalAddress(0), kPages, MachineAddress(1U << 30), true)) {
      std::exit(1);
    }
    uint64_t sum = 0;
    const double nanoseconds = Median(5, [&] {
      const Time start = verbena::Now();
      for (int i = 0; i < kRounds; ++i) {
        const auto found = core.translator.Translate(
            keys->remote, verbena::KeyAddress(static_cast<uint64_t>(i) % kPages * kPage), 64,
            AccessKind::kRemoteRead, {pd, verbena::QpNumber(1)});
        if (const Ready* const ready = AsReady(found)) sum += ready->spans[0].length;
      }
      return MicrosecondsSince(start) * 1'000 / kRounds;
    });
    if (sum == 0) std::exit(1);
    Show(is_guest ? "translation of an access, two stages" : "translation of an access, one stage",
         nanoseconds, "ns");
  }
}

void MeasureSwap(const World& world) {
  const double mebibytes = static_cast<double>(world.size) / kMebibyte;
  std::vector<double> in;
  const double out = Median(5, [&] {
    world.Touch();
    const Time start = verbena::Now();
    world.SwapOut();
    const double taken = MicrosecondsSince(start);
    const Time back = verbena::Now();
    world.SwapInAll();
    in.push_back(MicrosecondsSince(back));
    return taken;
  });
  std::ranges::nth_element(in, in.begin() + 2);
  Show("swap-out of a region, until its memory is given back", out / mebibytes, "us/MiB");
  Show("swap-in of a region, until all of it is in memory", in[2] / mebibytes, "us/MiB");
}

// The same bytes, by write and read.
void MeasureFile(const World& world) {
  std::string name = "/tmp/quiesce_cost.XXXXXX";
  const int file = mkstemp(name.data());
  if (file < 0) std::exit(1);
  unlink(name.c_str());
  const double mebibytes = static_cast<double>(world.size) / kMebibyte;
  std::vector<std::byte> bytes(world.memory.bytes().begin(), world.memory.bytes().end());
  const auto each = [&](auto transfer) {
    return Median(5, [&] {
      const Time start = verbena::Now();
      for (uint64_t at = 0; at < bytes.size(); at += kMebibyte) {
        const uint64_t length = std::min(kMebibyte, bytes.size() - at);
        if (transfer(file, &bytes[at], length, static_cast<off_t>(at)) < 0) std::exit(1);
      }
      return MicrosecondsSince(start);
    });
  };
  const auto write = [](int f, std::byte* at, size_t n, off_t to) { return pwrite(f, at, n, to); };
  const auto read = [](int f, std::byte* at, size_t n, off_t to) { return pread(f, at, n, to); };
  Show("the same by plain pwrite", each(write) / mebibytes, "us/MiB");
  Show("the same by plain pread", each(read) / mebibytes, "us/MiB");
  close(file);
}

// From the post of a peer's read of a region that is out, with a host that gives it back at once.
void MeasurePeer(const World& world) {
  const auto read = [&] {
    const Time start = verbena::Now();
    Must(world.peer.qp.Post(
        verbena::Read{.data = world.local.Local(0, kPage), .remote = world.region.Remote(0)}));
    verbena::Completion completion;
    while (world.peer.cq.Poll({&completion, 1}).value_or(0) == 0) {
      for (const GuestEvent& event : world.host().TakeEvents(verbena::Now())) {
        if (event.kind != GuestEvent::Kind::kAwaited) continue;
        Must(world.host().SwapInRegion(world.region.l_key()));
      }
    }
    if (!completion.ok()) std::exit(1);
    return MicrosecondsSince(start);
  };
  Show("a peer's read of 4 KiB, the region is in memory", Median(21, read), "us");
  const double out = Median(21, [&] {
    world.SwapOut();
    return read();
  });
  Show("a peer's read of 4 KiB, the region is out", out, "us");
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t mebibytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 64;
  if (mebibytes == 0 || mebibytes > 65'536) {
    std::fprintf(stderr, "usage: quiesce_cost [MIB]\n");
    return 2;
  }
  const World world(mebibytes * kMebibyte);
  MeasureWord(world);
  MeasureSecondStage();
  MeasureSwap(world);
  MeasureFile(world);
  MeasurePeer(world);
  return 0;
}
