#pragma once

#include <sched.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <type_traits>
#include <utility>

#include "verbena/verbena.h"

namespace verbena::bench {

using Clock = std::chrono::steady_clock;

inline constexpr uint32_t kPage = 4'096;

[[noreturn]] inline void Fail(const char* reason) {
  std::fprintf(stderr, "fault_cost: %s\n", reason);
  std::exit(EXIT_FAILURE);
}

// Returns the value, or exits with the error.
template <class T>
T Must(ErrorOr<T> result) {
  if (!result) Fail(result.error().text.c_str());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}
template <class T>
T Must(CodeOr<T> result) {
  if (!result) Fail(NameOf(result.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

inline void Must(const PostResult& result) {
  if (!result) Fail(ToString(result.error()).c_str());
}

inline void MustSucceed(const Completion& completion) {
  if (!completion.ok()) Fail(NameOf(completion.status));
}

inline int64_t TimeOf(const auto& action) {
  const auto begin = Clock::now();
  action();
  return (Clock::now() - begin).count();
}

// While an object of this class exists, the calling thread and the threads that it starts run on
// all processors except the last. Its destructor moves the calling thread to the last one, so that
// the started threads take no processor time from it. With one processor all share it.
class OwnProcessor {
 public:
  OwnProcessor() {
    cpu_set_t others = Allowed();
    if (CPU_COUNT(&others) > 1) CPU_CLR(Last(), &others);
    sched_setaffinity(0, sizeof(others), &others);
  }
  OwnProcessor(const OwnProcessor&) = delete;
  OwnProcessor& operator=(const OwnProcessor&) = delete;
  ~OwnProcessor() {
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(Last(), &own);
    sched_setaffinity(0, sizeof(own), &own);
  }

 private:
  // The processors that the program was allowed at its start.
  static const cpu_set_t& Allowed() {
    static const cpu_set_t kAllowed = [] {
      cpu_set_t found;
      CPU_ZERO(&found);
      sched_getaffinity(0, sizeof(found), &found);
      return found;
    }();
    return kAllowed;
  }
  static size_t Last() {
    size_t last = CPU_SETSIZE - 1;
    while (last > 0 && !CPU_ISSET(last, &Allowed())) --last;
    return last;
  }
};

// A device with the objects that all connections of one end share.
struct End {
  explicit End(const Options& options) : context(Must(Context::Open(Dedicated(options)))) {}

  [[nodiscard]] MemoryRegion Register(std::span<std::byte> bytes) const {
    return Must(MemoryRegion::Register(domain, bytes, Access::kAll));
  }

  // Each end has an adapter of its own, as if it were another node, in one process.
  static Options Dedicated(Options options) {
    options.dedicated_adapter = true;
    return options;
  }

  Context context;
  ProtectionDomain domain = Must(ProtectionDomain::Allocate(context));
  CompletionQueue cq = Must(CompletionQueue::Create(context, 8'192));
};

struct Connection {
  QueuePair near;
  QueuePair far;
};

// A requester (near) and a responder (far): two devices of one process, connected over the loopback
// device. One thread on a processor of its own polls both alternately, so that no end waits for a
// processor.
class World {
 public:
  explicit World(const Options& options = {}) : World(OwnProcessor(), options) {}

  [[nodiscard]] const End& near() const { return near_; }
  [[nodiscard]] const End& far() const { return far_; }

  // Connects two queue pairs. Fast registrations on them take lists of up to `pages_max` pages.
  [[nodiscard]] Connection Connect(const ConnectSettings& settings = {},
                                   uint32_t pages_max = 0) const {
    static const Gid kLoopback = *ParseGid("127.0.0.1");
    Connection made{MakeQp(near_, pages_max), MakeQp(far_, pages_max)};
    const QpAddress near{made.near.number(), kLoopback, Psn{}};
    const QpAddress far{made.far.number(), kLoopback, Psn{}};
    Must(made.near.Connect(near, far, settings));
    Must(made.far.Connect(far, near, settings));
    return made;
  }

  // The completions of the requester, with any status. Completions of the responder are dropped.
  [[nodiscard]] std::span<const Completion> PollAny() {
    Completion none;
    static_cast<void>(Must(far_.cq.Poll({&none, 1})));
    const size_t count = Must(near_.cq.Poll(completions_));
    return std::span<const Completion>(completions_).first(count);
  }
  // As PollAny, but each completion must be a success.
  [[nodiscard]] std::span<const Completion> Poll() {
    const auto found = PollAny();
    for (const Completion& one : found) MustSucceed(one);
    return found;
  }

  void WaitFor(size_t count) {
    while (count > 0) count -= Poll().size();
  }

  // REQUIRES: nothing is in flight.
  void PollFor(std::chrono::nanoseconds duration) {
    for (const auto end = Clock::now() + duration; Clock::now() < end;) {
      static_cast<void>(Poll());
    }
  }

  // The time from post to completion, in ns.
  int64_t RoundTrip(const Connection& connection, const Write& write) {
    return TimeOf([&] {
      Must(connection.near.Post(write));
      WaitFor(1);
    });
  }

 private:
  World(const OwnProcessor&, const Options& options) : near_(options), far_(options) {}

  static QueuePair MakeQp(const End& end, uint32_t pages_max) {
    return Must(QueuePair::Create(
        end.domain, {.send_cq = &end.cq, .receive_cq = &end.cq, .send = {.pages_max = pages_max}}));
  }

  const End near_;
  const End far_;
  std::array<Completion, 64> completions_{};
};

}  // namespace verbena::bench
