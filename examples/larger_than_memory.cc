// A program, the owner, registers four times as much memory as its budget. Another one, the
// visitor, writes and reads all of it sequentially, at random and with a Zipf distribution, and
// checks every byte. The owner accesses the memory at the same time.
//
//   larger_than_memory                [FILE.svg]     both ends, here
//   larger_than_memory server [PORT]  [FILE.svg]
//   larger_than_memory client HOST [PORT]

#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "examples/support/endpoint.h"
#include "examples/support/residency_picture.h"
#include "examples/support/two_ends.h"

namespace {

using examples::Endpoint;
using examples::Must;
using std::chrono::milliseconds;
using verbena::Rendezvous;

constexpr uint64_t kPage = 4'096, kPages = 4'096, kBudget = kPages * kPage / 4;
constexpr uint64_t kSlack = 64 * kPage;  // for pages that are just being evicted

// The last bytes of each page are a counter of the owner; the visitor writes the rest.
constexpr uint64_t kOwned = sizeof(uint64_t), kVisited = kPage - kOwned;

// The phases of the visitor, which reports them to the owner for the picture.
constexpr std::array kPhases{"idle", "sequential", "random", "Zipf", "read back"};
constexpr uint8_t kEnd = kPhases.size();

std::string svg_path;  // NOLINT: from the command line

// The owner of the memory samples its residency, and increments counters in its pages.
class Owner {
 public:
  explicit Owner(const verbena::ManagedMemory& memory) : memory_(memory) {}

  // Returns when the visitor's phase is kEnd. False if a counter was wrong, or more memory than the
  // budget was resident.
  bool Work(const std::atomic<uint8_t>& phase) {
    std::thread counter([&] { Count(phase); });
    const auto begin = Clock::now();
    for (uint8_t now = phase; now != kEnd; now = phase) {
      const uint64_t resident = Must(memory_.Query()).resident;
      peak_ = std::max(peak_, resident);
      recent_peak_ = std::max(recent_peak_, resident);
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      if (now != shown_phase_) picture_.BeginPhase(seconds, kPhases[now]);
      shown_phase_ = now;
      Show(seconds);
      std::this_thread::sleep_for(milliseconds(5));
    }
    counter.join();
    return Summarize();
  }

 private:
  using Clock = std::chrono::steady_clock;

  // Prints a line every half second. The picture has at most 128 samples, even of a long run.
  void Show(double seconds) {
    const bool is_due = seconds >= next_line_;
    if (!is_due && seconds < picture_.next()) return;
    const auto& cells =
        picture_.Add(seconds, Must(memory_.Places()), std::exchange(recent_peak_, 0));
    if (!is_due) return;
    next_line_ = seconds + 0.5;
    std::printf("owner %5.2f s |%s|\n", seconds, examples::ResidencyPicture::Text(cells).c_str());
  }

  void Count(const std::atomic<uint8_t>& phase) {
    std::mt19937_64 random(1);
    std::vector<uint64_t> counts(kPages);
    while (phase != kEnd) {
      const uint64_t page = random() % kPages;
      std::byte* const place = memory_.bytes().data() + page * kPage + kVisited;
      uint64_t seen = 0;
      std::memcpy(&seen, place, sizeof seen);
      wrong_ += seen != counts[page] ? 1 : 0;
      ++counts[page];
      std::memcpy(place, &counts[page], sizeof seen);
      ++touched_;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

  bool Summarize() {
    const auto report = Must(memory_.Query());
    std::printf(
        "owner: %llu MiB registered, at most %.1f MiB resident, budget %llu MiB; accessed %llu "
        "pages itself, %llu of them wrong\n",
        static_cast<unsigned long long>(kPages * kPage >> 20),
        static_cast<double>(peak_) / (1 << 20), static_cast<unsigned long long>(kBudget >> 20),
        static_cast<unsigned long long>(touched_.load()), static_cast<unsigned long long>(wrong_));
    std::printf("owner: %llu pages written to the swap file, %llu read; CPU view %s, swap I/O %s\n",
                static_cast<unsigned long long>(report.pages_written),
                static_cast<unsigned long long>(report.pages_read), report.noticed_by.c_str(),
                report.stored_by.c_str());
    if (!svg_path.empty() && !picture_.WriteSvg(svg_path)) {
      std::fprintf(stderr, "cannot write %s\n", svg_path.c_str());
      return false;
    }
    return wrong_ == 0 && peak_ <= kBudget + kSlack;
  }

  const verbena::ManagedMemory& memory_;
  examples::ResidencyPicture picture_{kPages * kPage, kBudget};
  double next_line_ = 0;
  uint8_t shown_phase_ = 0;
  uint64_t peak_ = 0, recent_peak_ = 0, wrong_ = 0;
  std::atomic<uint64_t> touched_ = 0;
};

bool Serve(const verbena::RendezvousListener& listener) {
  const Rendezvous rendezvous = Must(listener.Accept());
  Endpoint end;
  if (!end.Connect(rendezvous)) return false;
  const auto memory = Must(
      verbena::ManagedMemory::Create(end.context, {.size = kPages * kPage, .budget = kBudget}));
  const auto region = end.Register(memory.bytes(), verbena::Access::kAll);
  if (!rendezvous.Send(region.Remote())) return false;
  std::atomic<uint8_t> phase = 0;
  std::thread waits([&] {
    while (phase != kEnd) phase = std::min(rendezvous.Receive<uint8_t>().value_or(kEnd), kEnd);
  });
  Owner owner(memory);
  const bool good = owner.Work(phase);
  waits.join();
  return good;
}

// Writes pages and reads them back, one at a time.
class Visitor {
 public:
  Visitor(Endpoint& end, const Rendezvous& rendezvous, verbena::RemoteAddress there)
      : end_(end), rendezvous_(rendezvous), there_(there) {}

  // Every fourth visit first checks the page of an earlier one. False if an access failed or a byte
  // was wrong.
  template <class NextPage>
  bool Visit(uint8_t phase, uint64_t count, NextPage next_page) {
    if (!rendezvous_.Send(phase)) return false;
    const auto begin = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t page = next_page(i);
      if (i % 4 == 0 && !Check(page)) return false;
      if (!Write(page)) return false;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("visitor: %5llu pages %s in %.2f s\n", static_cast<unsigned long long>(count),
                kPhases[phase], took.count());
    return true;
  }
  bool CheckAll(uint8_t phase) {
    if (!rendezvous_.Send(phase)) return false;
    for (uint64_t page = 0; page < kPages; ++page) {
      if (!Check(page)) return false;
    }
    std::printf("visitor: all %llu pages have the expected contents\n",
                static_cast<unsigned long long>(kPages));
    return true;
  }

 private:
  std::byte ByteAt(uint64_t page, uint64_t i) const {
    return lives_[page] == 0 ? std::byte{}
                             : static_cast<std::byte>(page * 31 + lives_[page] * 7 + i);
  }
  verbena::RemoteAddress PlaceOf(uint64_t page) const {
    return {there_.address + page * kPage, there_.key};
  }
  bool Write(uint64_t page) {
    ++lives_[page];
    for (uint64_t i = 0; i < kVisited; ++i) buffer_[i] = ByteAt(page, i);
    Must(end_.qp.Post(verbena::Write{.data = region_.Local(0, kVisited), .remote = PlaceOf(page)}));
    return end_.WaitSuccess();
  }
  bool Check(uint64_t page) {
    Must(end_.qp.Post(verbena::Read{.data = region_.Local(0, kVisited), .remote = PlaceOf(page)}));
    if (!end_.WaitSuccess()) return false;
    for (uint64_t i = 0; i < kVisited; ++i) {
      if (buffer_[i] == ByteAt(page, i)) continue;
      std::fprintf(stderr, "byte %llu of page %llu is wrong\n", static_cast<unsigned long long>(i),
                   static_cast<unsigned long long>(page));
      return false;
    }
    return true;
  }

  Endpoint& end_;
  const Rendezvous& rendezvous_;
  const verbena::RemoteAddress there_;
  std::array<std::byte, kPage> buffer_{};
  const verbena::MemoryRegion region_ = end_.Register(buffer_, verbena::Access::kLocal);
  std::vector<uint32_t> lives_ = std::vector<uint32_t>(kPages);
};

bool Visit(const std::string& host, uint16_t port) {
  const auto rendezvous = Rendezvous::Connect(host, port);
  if (!rendezvous) return false;
  Endpoint end;
  if (!end.Connect(*rendezvous)) return false;
  const auto there = rendezvous->Receive<verbena::RemoteAddress>();
  if (!there) return false;
  Visitor visitor(end, *rendezvous, *there);
  std::mt19937_64 random(7);
  // Zipf with exponent 1. A hash spreads the ranks over the pages.
  const auto zipf = [&](uint64_t) {
    const double draw = std::generate_canonical<double, 53>(random);
    const auto rank = static_cast<uint64_t>(std::pow(static_cast<double>(kPages), draw));
    return (rank * 0x9E37'79B9'7F4A'7C15) % kPages;
  };
  const bool good = visitor.Visit(1, kPages, [](uint64_t i) { return i; }) &&
                    visitor.Visit(2, kPages / 2, [&](uint64_t) { return random() % kPages; }) &&
                    visitor.Visit(3, kPages / 2, zipf) && visitor.CheckAll(4);
  return rendezvous->Send(kEnd) && good;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view last = argc > 1 ? argv[argc - 1] : "";
  if (last.ends_with(".svg")) {
    svg_path = last;
    --argc;
  }
  return examples::RunEnds(argc, argv, Serve, Visit);
}
