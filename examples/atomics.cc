// Several queue pairs increment a counter of another program with fetch-and-add, and then compete
// for a lock with compare-and-swap. Each add is executed once, even if the network loses packets.
//
//   atomics                       both ends, here
//   atomics server [PORT]
//   atomics client HOST [PORT]

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <vector>

#include "examples/support/endpoint.h"
#include "examples/support/two_ends.h"

namespace {

using examples::Endpoint;
using examples::Must;
using verbena::Access;
using verbena::Rendezvous;

constexpr size_t kQps = 4;
constexpr uint64_t kAdds = 100;  // of each queue pair

struct Shared {
  uint64_t counter = 0;
  uint64_t lock = 0;
};

// Both ends call this, which connects each queue pair to its counterpart.
bool ConnectAll(const Endpoint& end, const Rendezvous& rendezvous,
                std::array<verbena::QueuePair, kQps>& qps) {
  return std::ranges::all_of(qps, [&](verbena::QueuePair& qp) {
    qp = end.MakeQp();
    return rendezvous.ConnectQp(qp).has_value();
  });
}

bool Serve(const verbena::RendezvousListener& listener) {
  const Rendezvous rendezvous = Must(listener.Accept());
  Endpoint end;
  std::array<verbena::QueuePair, kQps> qps;
  if (!ConnectAll(end, rendezvous, qps)) return false;
  Shared shared;
  const auto region = end.Register(std::as_writable_bytes(std::span(&shared, 1)),
                                   Access::kLocal | Access::kRemoteAtomic);
  if (!rendezvous.Send(region.Remote()) || !rendezvous.Receive<char>()) return false;
  std::printf("server: the counter is %llu, queue pair %llu has the lock\n",
              static_cast<unsigned long long>(shared.counter),
              static_cast<unsigned long long>(shared.lock));
  return shared.counter == kQps * kAdds && shared.lock >= 1 && shared.lock <= kQps;
}

class Client {
 public:
  [[nodiscard]] bool Connect(const Rendezvous& rendezvous) {
    if (!ConnectAll(end_, rendezvous, qps_)) return false;
    const auto shared = rendezvous.Receive<verbena::RemoteAddress>();
    if (shared) shared_ = *shared;
    return shared.has_value();
  }

  // Posts all adds at once. Each must return another value.
  [[nodiscard]] bool Count() {
    for (uint64_t add = 0; add < kAdds; ++add) {
      for (size_t q = 0; q < kQps; ++q) {
        Must(qps_[q].Post(
            verbena::FetchAdd{.result = Result(q * kAdds + add), .remote = shared_, .add = 1}));
      }
    }
    if (!WaitFor(kQps * kAdds)) return false;
    std::ranges::sort(results_);
    for (uint64_t i = 0; i < results_.size(); ++i) {
      if (results_[i] != i) return false;
    }
    std::printf("client: %zu adds returned each value from 0 to %zu once\n", results_.size(),
                results_.size() - 1);
    return true;
  }

  // The lock is 0 until a queue pair has stored its number there.
  [[nodiscard]] bool Lock() {
    const verbena::RemoteAddress lock{shared_.address + offsetof(Shared, lock), shared_.key};
    for (size_t q = 0; q < kQps; ++q) {
      Must(qps_[q].Post(
          verbena::CompareSwap{.result = Result(q), .remote = lock, .compare = 0, .swap = q + 1}));
    }
    if (!WaitFor(kQps)) return false;
    const auto winners = std::ranges::count(results_.begin(), results_.begin() + kQps, uint64_t{0});
    std::printf("client: %zu queue pairs tried to take the lock, %td succeeded\n", kQps, winners);
    return winners == 1;
  }

 private:
  [[nodiscard]] verbena::Sge Result(uint64_t index) const { return region_.Local(8 * index, 8); }

  [[nodiscard]] bool WaitFor(size_t count) const {
    for (; count > 0; --count) {
      if (!end_.WaitSuccess()) return false;
    }
    return true;
  }

  Endpoint end_;
  std::array<verbena::QueuePair, kQps> qps_;
  std::vector<uint64_t> results_ = std::vector<uint64_t>(kQps * kAdds);
  verbena::MemoryRegion region_ =
      end_.Register(std::as_writable_bytes(std::span(results_)), Access::kLocal);
  verbena::RemoteAddress shared_;
};

bool Play(const std::string& host, uint16_t port) {
  const auto rendezvous = Rendezvous::Connect(host, port);
  if (!rendezvous) return false;
  Client client;
  return client.Connect(*rendezvous) && client.Count() && client.Lock() && rendezvous->Send('d');
}

}  // namespace

int main(int argc, char** argv) { return examples::RunEnds(argc, argv, Serve, Play); }
