#include "cli/ping.h"

#include <array>
#include <chrono>
#include <span>
#include <string>

#include "cli/completions.h"
#include "cli/interrupt.h"
#include "cli/payload.h"
#include "cli/poller.h"
#include "cli/progress_bar.h"

namespace verbena::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kReceives = 4;
constexpr uint64_t kWarmUpRounds = 100;

// The client side. Messages leave from the first half of its memory and come back into the second.
class Pinger {
 public:
  Pinger(Endpoint& endpoint, uint32_t size) : endpoint_(endpoint), size_(size) {}

  // The round trip in nanoseconds.
  ErrorOr<int64_t> Once(uint64_t seed) {
    FillPayload(endpoint_.memory().first(size_), seed);
    const auto start = Clock::now();
    if (auto done = Post(); !done) return tl::unexpected(std::move(done.error()));
    if (auto done = WaitForEcho(); !done) return tl::unexpected(std::move(done.error()));
    const int64_t time = (Clock::now() - start).count();
    if (const auto wrong = FindWrongByte(endpoint_.memory().subspan(size_, size_), seed)) {
      return tl::unexpected(Error{.text = "message " + std::to_string(seed) +
                                          " came back changed, from byte " +
                                          std::to_string(*wrong) + " on"});
    }
    return time;
  }

 private:
  ErrorOr<void> Post() {
    const QueuePair& qp = endpoint_.qps()[0];
    auto done = InWords(
        qp.Post(Receive{.id = WrId{kReceiveFlag}, .data = endpoint_.region().Local(size_, size_)}));
    if (done) done = InWords(qp.Post(Send{.data = endpoint_.region().Local(0, size_)}));
    return done;
  }

  // Waits for both completions, because the next message uses the same memory.
  ErrorOr<void> WaitForEcho() {
    for (int ended = 0; ended < 2;) {
      if (Interrupted()) return tl::unexpected(Error{.text = "interrupted"});
      const auto count = poller_.Poll(endpoint_.cq(), completions_);
      if (!count) return tl::unexpected(InWords(count.error()));
      for (const Completion& one : std::span(completions_).first(*count)) {
        if (!one.ok()) return tl::unexpected(InWords(one));
        ++ended;
      }
    }
    return {};
  }

  Endpoint& endpoint_;
  uint32_t size_;
  Poller poller_;
  std::array<Completion, 2> completions_{};
};

}  // namespace

ErrorOr<Latencies> Ping(const Peer& peer, const PingSpec& spec) {
  const ServerRequest request{.receives = kReceives, .message = spec.size, .echo = true};
  auto client = Client::Join(peer, request, kReceives);
  if (!client) return tl::unexpected(std::move(client.error()));
  Pinger pinger((*client)->endpoint(), spec.size);
  Latencies latencies;
  latencies.Reserve(spec.count);
  ProgressBar progress("ping");
  for (uint64_t i = 0; i < kWarmUpRounds + spec.count && !Interrupted(); ++i) {
    const auto time = pinger.Once(i);
    if (!time && Interrupted()) break;
    if (!time) return tl::unexpected(time.error());
    if (i >= kWarmUpRounds) latencies.Add(*time);
    progress.Show(static_cast<double>(i) / static_cast<double>(spec.count));
  }
  return latencies;
}

}  // namespace verbena::cli
