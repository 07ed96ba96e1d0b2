#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "cli/client.h"
#include "cli/completions.h"
#include "cli/payload.h"
#include "cli/poller.h"

namespace verbena::integration {

// Runs all operations of reliable connections on many queue pairs in parallel, and checks each.
// Every queue pair repeats: write to its part of the server's window, read it back, send a message
// that the server echoes, add to a counter and swap it. One thread.
class Mixer {
 public:
  static constexpr uint32_t kMessage = 9'000;
  static constexpr uint64_t kPart = 16'384;  // bytes of the window per queue pair
  static constexpr uint64_t kCounter = kPart - 8;

  static cli::ServerRequest RequestFor(uint32_t qps) {
    return {.qps = qps, .receives = 2, .window = qps * kPart, .message = kMessage, .echo = true};
  }

  Mixer(cli::Endpoint& endpoint, uint64_t seed)
      : endpoint_(endpoint),
        random_(seed),
        source_(endpoint.qps().size() * kPart),
        landing_(source_.size()),
        qps_(endpoint.qps().size()) {}

  ErrorOr<void> Start() {
    auto source = MemoryRegion::Register(endpoint_.domain(), source_, Access::kAll);
    auto landing = MemoryRegion::Register(endpoint_.domain(), landing_, Access::kAll);
    if (!source || !landing) return tl::unexpected((source ? landing : source).error());
    source_region_ = std::move(*source);
    landing_region_ = std::move(*landing);
    for (size_t i = 0; i < qps_.size(); ++i) {
      if (auto done = Step(i); !done) return done;
    }
    return {};
  }

  // Handles completions and starts the next operations. Fails if a result is wrong.
  ErrorOr<void> Poll() {
    const auto count = poller_.Poll(endpoint_.cq(), completions_);
    if (!count) return tl::unexpected(cli::InWords(count.error()));
    for (const Completion& one : std::span(completions_).first(*count)) {
      if (!one.ok()) return tl::unexpected(cli::InWords(one));
      if (one.id == kProbe) {
        probing_ = false;
        continue;
      }
      if (auto done = OnCompletion(one.id.value() & ~cli::kReceiveFlag); !done) return done;
    }
    return {};
  }

  // Posts an empty write, unless one is outstanding. Without requests, a queue pair does not notice
  // that its peer is gone: the transport reports only requests without a response.
  ErrorOr<void> Probe() {
    if (std::exchange(probing_, true)) return {};
    return cli::InWords(
        endpoint_.qps()[0].Post(Write{.id = kProbe, .remote = endpoint_.remote(0)}));
  }

  // Starts no more operations.
  void Stop() { stops_ = true; }
  [[nodiscard]] bool under_way() const { return under_way_ > 0; }
  [[nodiscard]] uint64_t operations() const { return operations_; }
  [[nodiscard]] uint64_t rounds_min() const {
    uint64_t least = UINT64_MAX;
    for (const Qp& qp : qps_) least = std::min(least, qp.rounds);
    return least;
  }

 private:
  static constexpr WrId kProbe{cli::kReceiveFlag - 1};

  enum class Next : uint8_t { kWrite, kRead, kSend, kAdd, kSwap };

  struct Qp {
    Next next = Next::kWrite;
    Next current = Next::kWrite;
    int awaited = 0;  // outstanding completions
    uint64_t seed = 0;
    uint64_t offset = 0;  // in its part of the window
    uint32_t length = 0;
    uint64_t counter = 0;
    uint64_t rounds = 0;
  };

  ErrorOr<void> Step(size_t i) {
    Qp& qp = qps_[i];
    if (stops_) return {};
    qp.current = qp.next;
    qp.awaited = qp.current == Next::kSend ? 2 : 1;
    under_way_ += static_cast<uint64_t>(qp.awaited);
    ++operations_;
    return cli::InWords(Post(i, qp));
  }

  void Draw(size_t i, Qp& qp) {
    qp.seed = random_.Next64();
    qp.length = static_cast<uint32_t>(random_.Between(1, kMessage));
    qp.offset = random_.Below(kCounter - kMessage);
    cli::FillPayload(std::span(source_).subspan(i * kPart + qp.offset, qp.length), qp.seed);
  }

  PostResult Post(size_t i, Qp& qp) {
    const QueuePair& pair = endpoint_.qps()[i];
    const WrId id{i};
    if (qp.current == Next::kWrite || qp.current == Next::kSend) Draw(i, qp);
    const Sge from = source_region_.Local(i * kPart + qp.offset, qp.length);
    const Sge into = landing_region_.Local(i * kPart + qp.offset, qp.length);
    const Sge old = landing_region_.Local(i * kPart + kCounter, 8);
    const RemoteAddress there = endpoint_.remote(i * kPart + qp.offset);
    const RemoteAddress counter = endpoint_.remote(i * kPart + kCounter);
    switch (qp.current) {
      case Next::kWrite:
        return pair.Post(Write{.id = id, .data = from, .remote = there});
      case Next::kRead:
        return pair.Post(Read{.id = id, .data = into, .remote = there});
      case Next::kAdd:
        return pair.Post(FetchAdd{.id = id, .result = old, .remote = counter, .add = 3});
      case Next::kSwap:
        return pair.Post(CompareSwap{.id = id,
                                     .result = old,
                                     .remote = counter,
                                     .compare = qp.counter,
                                     .swap = qp.counter + 4});
      case Next::kSend:
        break;
    }
    const auto received = pair.Post(Receive{.id = WrId{cli::kReceiveFlag | i}, .data = into});
    return received ? pair.Post(Send{.id = id, .data = from}) : received;
  }

  ErrorOr<void> OnCompletion(size_t i) {
    Qp& qp = qps_[i];
    --under_way_;
    if (--qp.awaited > 0) return {};
    if (const std::string wrong = Check(i, qp); !wrong.empty()) {
      return tl::unexpected(Error{.text = "queue pair " + std::to_string(i) + ": " + wrong});
    }
    return Step(i);
  }

  // Checks the completed operation and selects the next one. Returns an error text, or "".
  std::string Check(size_t i, Qp& qp) {
    const auto into = std::span(landing_).subspan(i * kPart + qp.offset, qp.length);
    switch (qp.current) {
      case Next::kWrite:
        qp.next = Next::kRead;
        return "";
      case Next::kRead:
        qp.next = Next::kSend;
        return cli::FindWrongByte(into, qp.seed) ? "the read returned other bytes" : "";
      case Next::kSend:
        qp.next = Next::kAdd;
        return cli::FindWrongByte(into, qp.seed) ? "an echoed message has other bytes" : "";
      case Next::kAdd:
        qp.next = Next::kSwap;
        return CheckCounter(i, qp, 3);
      case Next::kSwap:
        qp.next = Next::kWrite;
        ++qp.rounds;
        return CheckCounter(i, qp, 4);
    }
    return "";
  }

  std::string CheckCounter(size_t i, Qp& qp, uint64_t added) {
    uint64_t old = 0;
    std::memcpy(&old, &landing_[i * kPart + kCounter], sizeof(old));
    if (old != qp.counter) {
      return "the counter was " + std::to_string(old) + ", not " + std::to_string(qp.counter);
    }
    qp.counter += added;
    return "";
  }

  cli::Endpoint& endpoint_;
  Random random_;
  std::vector<std::byte> source_;
  std::vector<std::byte> landing_;
  MemoryRegion source_region_;
  MemoryRegion landing_region_;
  std::vector<Qp> qps_;
  cli::Poller poller_;
  std::array<Completion, 64> completions_{};
  uint64_t under_way_ = 0;
  uint64_t operations_ = 0;
  bool stops_ = false;
  bool probing_ = false;
};

}  // namespace verbena::integration
