#include "cli/bench.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "cli/completions.h"
#include "cli/interrupt.h"
#include "cli/poller.h"
#include "cli/progress_bar.h"
#include "cli/text.h"

namespace verbena::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kAtomicSize = 8;
constexpr uint32_t kReceivesMin = 128;
constexpr size_t kLatenciesMax = 10'000'000;
constexpr std::chrono::milliseconds kWarmUpTime(100);

// Polls per reading of the clock, so that the readings hardly affect the result.
constexpr int kPollsPerClock = 16;

// Constructs in place: gcc 12 warns about uninitialised padding when a request is moved.
void MakeRequest(const BenchSpec& spec, Endpoint& endpoint, bool signaled, SendRequest& request) {
  const auto fill = [&](auto& made, auto& data) {
    data = endpoint.region().Local(0, spec.size);
    made.flags.signaled = signaled;
    if constexpr (requires { made.remote; }) made.remote = endpoint.remote(0);
  };
  switch (spec.operation) {
    case BenchOperation::kWrite: {
      auto& write = request.emplace<Write>();
      return fill(write, write.data);
    }
    case BenchOperation::kRead: {
      auto& read = request.emplace<Read>();
      return fill(read, read.data);
    }
    case BenchOperation::kSend: {
      auto& send = request.emplace<Send>();
      return fill(send, send.data);
    }
    case BenchOperation::kAtomic: {
      auto& add = request.emplace<FetchAdd>();
      add.add = 1;
      return fill(add, add.result);
    }
  }
}

// Keeps the send queues of all queue pairs full of batches, and counts completed batches. All
// batches are the same; only the last request of a batch is signaled.
class Stream {
 public:
  Stream(Endpoint& endpoint, const BenchSpec& spec)
      : endpoint_(endpoint), spec_(spec), chain_(spec.batch), qps_(spec.qps) {
    for (SendRequest& request : chain_) {
      MakeRequest(spec, endpoint, &request == &chain_.back(), request);
    }
    for (Qp& qp : qps_) qp.posted_at.resize(spec.depth / spec.batch);
  }

  // Posts until `end`, or `count` requests if that is not 0, then waits until all have completed.
  ErrorOr<void> Run(Clock::time_point end, uint64_t count, ProgressBar& progress) {
    const auto begin = Clock::now();
    uint64_t to_post = count == 0 ? UINT64_MAX : (count + spec_.batch - 1) / spec_.batch;
    while (!Interrupted()) {
      if (auto done = FillAll(to_post); !done) return done;
      if (auto done = Reap(); !done) return done;
      if (count == 0 && ++probes_ % kPollsPerClock == 0) {
        const auto now = Clock::now();
        if (now >= end) to_post = 0;
        progress.Show(std::chrono::duration<double>(now - begin) / (end - begin));
      }
      if (to_post == 0 && under_way_ == 0) break;
    }
    return {};
  }

  [[nodiscard]] uint64_t batches() const { return batches_; }
  [[nodiscard]] Latencies& latencies() { return latencies_; }

  void Forget() {
    batches_ = 0;
    latencies_ = {};
    latencies_.Reserve(std::min<size_t>(kLatenciesMax, 1 << 20));
  }

 private:
  struct Qp {
    std::vector<Clock::time_point> posted_at;  // of outstanding batches; a ring
    uint64_t posted = 0;
    uint64_t completed = 0;
  };

  ErrorOr<void> FillAll(uint64_t& to_post) {
    for (size_t i = 0; i < qps_.size(); ++i) {
      Qp& qp = qps_[i];
      while (to_post > 0 && qp.posted - qp.completed < qp.posted_at.size()) {
        SetId(WrId{i});
        qp.posted_at[qp.posted % qp.posted_at.size()] = Clock::now();
        const ChainResult chain = endpoint_.qps()[i].PostChain(chain_);
        if (!chain.result) return tl::unexpected(InWords(chain.result.error()));
        ++qp.posted;
        ++under_way_;
        --to_post;
      }
    }
    return {};
  }

  void SetId(WrId id) {
    std::visit([id](auto& request) { request.id = id; }, chain_.back());
  }

  ErrorOr<void> Reap() {
    const auto count = poller_.Poll(endpoint_.cq(), completions_);
    if (!count) return tl::unexpected(InWords(count.error()));
    if (*count == 0) return {};
    const auto now = Clock::now();
    for (const Completion& one : std::span(completions_).first(*count)) {
      if (!one.ok()) return tl::unexpected(InWords(one));
      Qp& qp = qps_[one.id.value()];
      const auto posted_at = qp.posted_at[qp.completed % qp.posted_at.size()];
      if (latencies_.count() < kLatenciesMax) latencies_.Add((now - posted_at).count());
      ++qp.completed;
      ++batches_;
      --under_way_;
    }
    return {};
  }

  Endpoint& endpoint_;
  BenchSpec spec_;
  std::vector<SendRequest> chain_;
  std::vector<Qp> qps_;
  Poller poller_;
  std::array<Completion, 64> completions_{};
  Latencies latencies_;
  uint64_t batches_ = 0;
  uint64_t under_way_ = 0;
  uint64_t probes_ = 0;
};

SocketCounters Since(const SocketCounters& before, SocketCounters now) {
  now.send_calls -= before.send_calls;
  now.receive_calls -= before.receive_calls;
  now.datagrams_sent -= before.datagrams_sent;
  now.datagrams_received -= before.datagrams_received;
  return now;
}

}  // namespace

const char* NameOf(BenchOperation operation) {
  switch (operation) {
    case BenchOperation::kWrite:
      return "write";
    case BenchOperation::kRead:
      return "read";
    case BenchOperation::kSend:
      return "send";
    case BenchOperation::kAtomic:
      return "atomic";
  }
  CHECK(false);
}

ServerRequest RequestFor(const BenchSpec& spec) {
  return {.qps = spec.qps,
          .receives = std::max(kReceivesMin, 2 * spec.depth),
          .window = std::max(spec.size, kAtomicSize),
          .message = spec.size};
}

ErrorOr<BenchResult> Bench(Endpoint& endpoint, BenchSpec spec) {
  if (spec.operation == BenchOperation::kAtomic) spec.size = kAtomicSize;
  spec.batch = std::min(spec.batch, spec.depth);
  spec.qps = std::min<uint32_t>(spec.qps, static_cast<uint32_t>(endpoint.qps().size()));
  Stream stream(endpoint, spec);
  ProgressBar progress(Text("%s of %s", NameOf(spec.operation), BytesText(spec.size).c_str()));
  if (auto done = stream.Run(Clock::now() + kWarmUpTime, spec.count / 10, progress); !done) {
    return tl::unexpected(std::move(done.error()));
  }
  stream.Forget();
  const auto before = endpoint.context().Query();
  const auto begin = Clock::now();
  const auto time = std::chrono::duration_cast<Clock::duration>(spec.time);
  if (auto done = stream.Run(begin + time, spec.count, progress); !done) {
    return tl::unexpected(std::move(done.error()));
  }
  const std::chrono::duration<double> took = Clock::now() - begin;
  const auto after = endpoint.context().Query();
  if (!before || !after) return tl::unexpected((before ? after : before).error());
  return BenchResult{.spec = spec,
                     .requests = stream.batches() * spec.batch,
                     .seconds = took.count(),
                     .latencies = std::move(stream.latencies()),
                     .sockets = Since(before->sockets, after->sockets)};
}

nlohmann::json BenchResult::ToJson() const {
  return {{"operation", NameOf(spec.operation)},
          {"bytes", spec.size},
          {"qps", spec.qps},
          {"depth", spec.depth},
          {"batch", spec.batch},
          {"requests", requests},
          {"seconds", seconds},
          {"requests_per_second", PerSecond()},
          {"mib_per_second", BytesPerSecond() / (1 << 20)},
          {"latency_us", latencies.ToJson()},
          {"send_calls", sockets.send_calls},
          {"receive_calls", sockets.receive_calls},
          {"packets_sent", sockets.datagrams_sent},
          {"packets_received", sockets.datagrams_received}};
}

}  // namespace verbena::cli
