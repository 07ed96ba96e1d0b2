#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/fault_memory.h"
#include "bench/fault_world.h"
#include "bench/steady_writer.h"
#include "tests/support/stuck_pages.h"

// Pages that do not come while requests of some queue pairs need them, and what others notice.

namespace verbena::bench {

// For a request that nothing holds up any more. Beyond any retry.
constexpr auto kPatience = std::chrono::seconds(3);

// Where the adapter meets a page that is stuck.
enum class Meeting : uint8_t {
  kAbsent,  // its tables do not know the page: the pager is asked for it
  kLeft,    // they do, and the page left: the copy itself meets it
  kListed,  // it is in a page list, registered by work request: as before, and for the first time
};
constexpr std::array kMeetings = {Meeting::kAbsent, Meeting::kLeft, Meeting::kListed};

inline const char* NameOf(Meeting meeting) {
  constexpr std::array kNames = {"absent", "left", "listed"};
  return kNames[static_cast<size_t>(meeting)];
}

// Lets stuck pages come after a time, unless it ends before. On a thread of its own: an adapter
// that waits for them on the caller's would otherwise wait for ever.
class ReleaseLater {
 public:
  ReleaseLater(StuckPages& pages, std::chrono::nanoseconds delay) {
    const OwnProcessor others;
    thread_ = std::jthread([this, &pages, delay](const std::stop_token& stop) {
      std::unique_lock lock(mutex_);
      stopped_.wait_for(lock, stop, delay, [] { return false; });
      pages.Release();
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;  // its end releases at once
};

// Queue pairs whose requests need stuck pages, one each, at the requester or at the responder.
class StuckRequests {
 public:
  static constexpr size_t kQpsMax = 16;
  // Beyond any time that a window takes where stuck pages stop nothing else.
  static constexpr auto kHoldMax = std::chrono::milliseconds(1'200);

  StuckRequests(World& world, bool at_requester)
      : world_(world), at_requester_(at_requester), region_(end().Register(pages_.bytes())) {
    Populate(good_.bytes(), true);
    for (size_t i = 0; i < kQpsMax; ++i) qps_.push_back(world.Connect({}, kQpsMax));
  }

  // From now on `count` pages are stuck. Nothing needs them yet.
  void Prepare(Meeting meeting, size_t count) {
    count_ = count;
    if (count == 0) return;
    const size_t first = std::exchange(next_, next_ + count);
    if (next_ > kPages) Fail("there are no more pages to be stuck");
    stuck_ = {&region_, first * kPage};
    if (meeting == Meeting::kLeft) Post();
    if (!WaitForAll()) Fail("a request whose page is there has not ended");
    if (meeting == Meeting::kListed) {
      RegisterList(first, count);
      stuck_ = {&listed_, 0};
    }
    pages_.Stick(first, count);
    release_.emplace(pages_, kHoldMax);
  }
  // A request for each of them.
  void Post() {
    for (size_t i = 0; i < count_; ++i, ++under_way_) {
      const uint64_t at = stuck_.offset + i * kPage;
      Must(qps_[i].near.Post(at_requester_ ? Write{.id = kId,
                                                   .data = stuck_.region->Local(at, kPage),
                                                   .remote = good_far_.Remote()}
                                           : Write{.id = kId,
                                                   .data = good_near_.Local(0, kPage),
                                                   .remote = stuck_.region->Remote(at)}));
    }
  }
  // They come, and the requests end: false if one does not.
  [[nodiscard]] bool End() {
    release_.reset();
    return WaitForAll();
  }

  void OnCompletion(const Completion& completion) {
    --under_way_;
    if (!completion.ok()) ++failed_;
  }
  // Those that have not ended, too.
  [[nodiscard]] uint64_t failed() const { return failed_ + under_way_; }
  [[nodiscard]] uint64_t timeouts() const {
    uint64_t sum = 0;
    for (const Connection& one : qps_) sum += Must(one.near.Query()).counters.timeouts;
    return sum;
  }

 private:
  static constexpr size_t kPages = 4'096;
  static constexpr WrId kId{SteadyWriter::kDepth};
  struct Stuck {
    const MemoryRegion* region = nullptr;
    uint64_t offset = 0;  // of the first page
  };

  [[nodiscard]] const bench::End& end() const {
    return at_requester_ ? world_.near() : world_.far();
  }

  void RegisterList(size_t first, size_t count) {
    listed_ = Must(MemoryRegion::Reserve(end().domain, static_cast<uint32_t>(count)));
    std::vector<uint64_t> list;
    for (size_t i = 0; i < count; ++i) list.push_back(pages_.address(first + i));
    const Connection& by = qps_.front();
    const Register request{.id = kId,
                           .registration = {.key = listed_.l_key(),
                                            .pages = list,
                                            .length = count * kPage,
                                            .access = Access::kAll}};
    Must((at_requester_ ? by.near : by.far).Post(request));
    world_.PollFor(std::chrono::milliseconds(1));
  }

  [[nodiscard]] bool WaitForAll() {
    for (const auto end = Clock::now() + kPatience; under_way_ > 0 && Clock::now() < end;) {
      for (const Completion& one : world_.PollAny()) OnCompletion(one);
    }
    return under_way_ == 0;
  }

  World& world_;
  const bool at_requester_;
  StuckPages pages_{kPages, StuckPages::Faults::kAll};
  const FreshPages good_{kPage};
  const MemoryRegion good_near_ = world_.near().Register(good_.bytes());
  const MemoryRegion good_far_ = world_.far().Register(good_.bytes());
  const MemoryRegion region_;
  MemoryRegion listed_;
  std::vector<Connection> qps_;
  std::optional<ReleaseLater> release_;
  size_t next_ = 0;
  size_t count_ = 0;
  Stuck stuck_;
  size_t under_way_ = 0;
  uint64_t failed_ = 0;
};

// A steady writer alone and beside requests whose pages are stuck, in turns.
inline nlohmann::json MeasureStuck(Meeting meeting, bool at_requester, size_t count) {
  constexpr auto kWindow = std::chrono::milliseconds(200);
  constexpr int kRepetitions = 5;
  World world;
  SteadyWriter writer(world);
  StuckRequests stuck(world, at_requester);
  nlohmann::json found = {
      {"meeting", NameOf(meeting)}, {"requester", at_requester}, {"pages", count}};
  bool is_lost = false, has_ended = true;
  const auto measure = [&](const char* name, const auto& post) {
    const Window window = writer.Measure(
        kWindow, post, [&](const Completion& completion) { stuck.OnCompletion(completion); });
    found[name]["writes_per_second"].push_back(window.writes_per_second);
    found[name]["p99_us"].push_back(window.p99_us);
    found[name]["longest_us"].push_back(window.longest_us);
    is_lost |= window.is_lost;
  };
  for (int i = 0; i < kRepetitions && !is_lost && has_ended; ++i) {
    measure("alone", [] {});
    stuck.Prepare(meeting, count);
    measure("stuck", [&, is_posted = false]() mutable {
      if (!std::exchange(is_posted, true)) stuck.Post();
    });
    has_ended = stuck.End();
  }
  found["lost"] = is_lost;
  found["failed"] = stuck.failed();
  found["timeouts"] = writer.timeouts() + stuck.timeouts();
  return found;
}

// How long one request took, and how it ended. Completions of others go to `on_other`.
inline nlohmann::json TimeOne(World& world, const auto& post, const auto& on_other) {
  const auto begin = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  post();
  while (Clock::now() - begin < StuckRequests::kHoldMax + kPatience) {
    for (const Completion& one : world.PollAny()) {
      if (one.id.value() == 0) return {{"seconds", seconds()}, {"status", NameOf(one.status)}};
      on_other(one);
    }
  }
  return {{"seconds", seconds()}, {"status", "none"}};
}

// Two pages are stuck, as many as there are pager threads from the start; a third queue pair needs
// a page that was never touched.
inline nlohmann::json MeasureThird() {
  World world;
  StuckRequests stuck(world, false);
  const Connection third = world.Connect();
  const FreshPages source(kPage), fresh(kPage);
  Populate(source.bytes(), true);
  const MemoryRegion from = world.near().Register(source.bytes());
  const MemoryRegion to = world.far().Register(fresh.bytes());
  stuck.Prepare(Meeting::kAbsent, 2);
  stuck.Post();
  nlohmann::json found = TimeOne(
      world,
      [&] { Must(third.near.Post(Write{.data = from.Local(0, kPage), .remote = to.Remote()})); },
      [&](const Completion& completion) { stuck.OnCompletion(completion); });
  if (!stuck.End()) Fail("a request whose page has come has not ended");
  return found;
}

// A page of the responder takes 1.2 s, and the requester has little patience.
inline nlohmann::json MeasureLate(const ConnectSettings& settings, bool is_read) {
  constexpr auto kDelay = std::chrono::milliseconds(1'200);
  World world;
  const Connection qps = world.Connect(settings);
  const FreshPages source(kPage);
  Populate(source.bytes(), true);
  StuckPages late(1, StuckPages::Faults::kAll);
  const MemoryRegion from = world.near().Register(source.bytes());
  const MemoryRegion to = world.far().Register(late.bytes());
  late.Stick(0, 1);
  const ReleaseLater release(late, kDelay);
  const auto post = [&] {
    const Sge here = from.Local(0, kPage);
    Must(is_read ? qps.near.Post(Read{.data = here, .remote = to.Remote()})
                 : qps.near.Post(Write{.data = here, .remote = to.Remote()}));
  };
  return TimeOne(world, post, [](const Completion&) {});
}

inline nlohmann::json MeasureStuck() {
  if (!StuckPages::IsAllowed(StuckPages::Faults::kAll)) return nlohmann::json::object();
  nlohmann::json windows = nlohmann::json::array();
  windows.push_back(MeasureStuck(Meeting::kAbsent, false, 0));  // what the machine does by itself
  for (const Meeting meeting : kMeetings) {
    for (const bool at_requester : {false, true}) {
      for (const size_t count : {size_t{1}, size_t{2}, StuckRequests::kQpsMax}) {
        windows.push_back(MeasureStuck(meeting, at_requester, count));
      }
    }
  }
  return {{"windows", windows},
          {"third", MeasureThird()},
          {"late_write", MeasureLate({.rnr_retry = 3}, false)},
          {"held_read", MeasureLate({.timeout = 14, .retry_count = 7}, true)}};
}

}  // namespace verbena::bench
