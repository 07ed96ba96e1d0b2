// A guest of a broker (docs/guests.md), the owner, serves managed memory. Its peer, the visitor,
// writes and reads all of it and checks every byte, however much of it the broker leaves in memory.
//
//   guest                                    both ends, here, without a broker
//   guest owner NAME SOCKET MIB              prints its port; ends with its visitor
//   guest visitor HOST PORT MIB SECONDS SEED

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "examples/support/endpoint.h"

namespace {

using examples::Endpoint;
using examples::Must;
using verbena::Rendezvous;

constexpr uint64_t kPage = 4'096, kBatchMax = 16;  // pages of an access

int Own(const verbena::RendezvousListener& listener, const verbena::Options& options,
        uint64_t bytes) {
  const auto context = Must(verbena::Context::Open(options));
  const auto domain = Must(verbena::ProtectionDomain::Allocate(context));
  const auto cq = Must(verbena::CompletionQueue::Create(context, 16));
  auto qp = Must(verbena::QueuePair::Create(domain, {.send_cq = &cq, .receive_cq = &cq}));
  const auto memory =
      Must(verbena::ManagedMemory::Create(context, {.size = bytes, .budget = bytes}));
  const auto region =
      Must(verbena::MemoryRegion::Register(domain, memory.bytes(), verbena::Access::kAll));
  std::printf("%u\n", listener.port());
  std::fflush(stdout);
  const Rendezvous rendezvous = Must(listener.Accept());
  Must(rendezvous.ConnectQp(qp));
  Must(rendezvous.Send(region.Remote()));
  return rendezvous.Receive<uint8_t>() ? 0 : 1;
}

// Pages have versions; the bytes of a page follow from its number, its version and the seed.
class Visitor {
 public:
  Visitor(const Endpoint& end, verbena::RemoteAddress there, uint64_t bytes, uint64_t seed)
      : end_(end), there_(there), seed_(seed), random_(seed), versions_(bytes / kPage) {}

  // False if an access failed or a byte was wrong.
  bool Work(double seconds) {
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + std::chrono::duration<double>(seconds);
    for (uint64_t page = 0; page < pages(); page += kBatchMax) {
      if (!Write(page, BatchAt(page))) return false;
    }
    while (Clock::now() < until) {
      const uint64_t page = random_() % pages();
      const uint64_t count = 1 + random_() % BatchAt(page);
      const bool good = random_() % 2 == 0 ? Write(page, count) : Check(page, count);
      if (!good) return false;
    }
    for (uint64_t page = 0; page < pages(); page += kBatchMax) {
      if (!Check(page, BatchAt(page))) return false;
    }
    std::printf("%llu pages written, %llu checked\n", static_cast<unsigned long long>(written_),
                static_cast<unsigned long long>(checked_));
    return true;
  }

 private:
  [[nodiscard]] uint64_t pages() const { return versions_.size(); }
  [[nodiscard]] uint64_t BatchAt(uint64_t page) const {
    return std::min(kBatchMax, pages() - page);
  }
  [[nodiscard]] verbena::RemoteAddress PlaceOf(uint64_t page) const {
    return {there_.address + page * kPage, there_.key};
  }
  void Fill(uint64_t page, uint64_t* words) const {
    std::mt19937_64 contents(seed_ ^ page << 32 ^ versions_[page]);
    for (uint64_t i = 0; i < kPage / sizeof(uint64_t); ++i) words[i] = contents();
  }
  bool Write(uint64_t page, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      ++versions_[page + i];
      Fill(page + i, &buffer_[i * kPage / sizeof(uint64_t)]);
    }
    written_ += count;
    const auto bytes = static_cast<uint32_t>(count * kPage);
    Must(end_.qp.Post(verbena::Write{.data = region_.Local(0, bytes), .remote = PlaceOf(page)}));
    return Ended();
  }
  bool Check(uint64_t page, uint64_t count) {
    const auto bytes = static_cast<uint32_t>(count * kPage);
    Must(end_.qp.Post(verbena::Read{.data = region_.Local(0, bytes), .remote = PlaceOf(page)}));
    if (!Ended()) return false;
    std::array<uint64_t, kPage / sizeof(uint64_t)> expected{};
    for (uint64_t i = 0; i < count; ++i) {
      Fill(page + i, expected.data());
      if (std::memcmp(expected.data(), &buffer_[i * expected.size()], kPage) == 0) continue;
      std::printf("page %llu is wrong\n", static_cast<unsigned long long>(page + i));
      return false;
    }
    checked_ += count;
    return true;
  }
  // However long the owner's memory is out.
  bool Ended() const {
    verbena::Completion completion;
    while (true) {
      const auto count = end_.cq.Poll({&completion, 1});
      if (!count) return false;
      if (*count == 0) continue;
      if (!completion.ok()) std::printf("an access failed: %s\n", NameOf(completion.status));
      return completion.ok();
    }
  }

  const Endpoint& end_;
  const verbena::RemoteAddress there_;
  const uint64_t seed_;
  std::mt19937_64 random_;
  std::vector<uint32_t> versions_;
  std::vector<uint64_t> buffer_ = std::vector<uint64_t>(kBatchMax * kPage / sizeof(uint64_t));
  const verbena::MemoryRegion region_ =
      end_.Register(std::as_writable_bytes(std::span(buffer_)), verbena::Access::kLocal);
  uint64_t written_ = 0, checked_ = 0;
};

int Visit(const std::string& host, uint16_t port, uint64_t bytes, double seconds, uint64_t seed) {
  const Rendezvous rendezvous = Must(Rendezvous::Connect(host, port));
  Endpoint end;
  if (!end.Connect(rendezvous)) return 1;
  const auto there = Must(rendezvous.Receive<verbena::RemoteAddress>());
  Visitor visitor(end, there, bytes, seed);
  if (!visitor.Work(seconds)) return 1;
  return rendezvous.Send(uint8_t{0}) ? 0 : 1;
}

int BothEnds() {
  constexpr uint64_t kBytes = uint64_t{8} << 20;
  const auto listener = Must(verbena::RendezvousListener::Listen(0));
  int owned = 1;
  std::thread owner([&] { owned = Own(listener, {}, kBytes); });
  const int visited = Visit("127.0.0.1", listener.port(), kBytes, 0.5, 1);
  owner.join();
  return owned != 0 ? owned : visited;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view role = argc > 1 ? argv[1] : "";
  const auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
  if (argc == 1) return BothEnds();
  if (role == "owner" && argc == 5) {
    verbena::Options options;
    options.guest = argv[2];
    options.broker = argv[3];
    options.guest_min = uint64_t{1} << 20;
    return Own(Must(verbena::RendezvousListener::Listen(0)), options, number(4) << 20);
  }
  if (role == "visitor" && argc == 7) {
    return Visit(argv[2], static_cast<uint16_t>(number(3)), number(4) << 20,
                 std::strtod(argv[5], nullptr), number(6));
  }
  std::fprintf(stderr,
               "usage: guest [owner NAME SOCKET MIB | visitor HOST PORT MIB SECONDS SEED]\n");
  return 2;
}
