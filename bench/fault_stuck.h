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

// Stuck pages: page-ins that do not finish while queue pairs need them, and the effect on others.

namespace verbena::bench {

// For a request whose pages are present. Longer than all retries.
constexpr auto kTimeout = std::chrono::seconds(3);

// How the adapter accesses a stuck page.
enum class Meeting : uint8_t {
  kAbsent,  // it is absent in the tables: the pager accesses it
  kLeft,    // it is present in the tables, but swapped out: a copy accesses it
  kListed,  // the same in a page list that was registered by work request, at the first access
};
constexpr std::array kMeetings = {Meeting::kAbsent, Meeting::kLeft, Meeting::kListed};

inline const char* NameOf(Meeting meeting) {
  constexpr std::array kNames = {"absent", "left", "listed"};
  return kNames[static_cast<size_t>(meeting)];
}

// Releases stuck pages after a time, or when it is destroyed. Uses its own thread, because an
// adapter that waits for the pages on the caller's thread would otherwise wait forever.
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
  std::jthread thread_;  // its destructor releases the pages at once
};

// Queue pairs whose requests need one stuck page each, at the requester or at the responder.
class StuckRequests {
 public:
  static constexpr size_t kQpsMax = 16;
  // Longer than a window, unless the stuck pages block other queue pairs.
  static constexpr auto kHoldMax = std::chrono::milliseconds(1'200);

  StuckRequests(World& world, bool at_requester)
      : world_(world), at_requester_(at_requester), region_(end().Register(pages_.bytes())) {
    Populate(good_.bytes(), true);
    for (size_t i = 0; i < kQpsMax; ++i) qps_.push_back(world.Connect({}, kQpsMax));
  }

  // Makes `count` pages stuck. No request needs them yet.
  void Prepare(Meeting meeting, size_t count) {
    count_ = count;
    if (count == 0) return;
    const size_t first = std::exchange(next_, next_ + count);
    if (next_ > kPages) Fail("no more pages to make stuck");
    stuck_ = {&region_, first * kPage};
    if (meeting == Meeting::kLeft) Post();
    if (!WaitForAll()) Fail("a request with a present page has not completed");
    if (meeting == Meeting::kListed) {
      RegisterList(first, count);
      stuck_ = {&listed_, 0};
    }
    pages_.Stick(first, count);
    release_.emplace(pages_, kHoldMax);
  }
  // Posts a request for each stuck page.
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
  // Releases the pages and waits for the requests; false if one does not complete.
  [[nodiscard]] bool End() {
    release_.reset();
    return WaitForAll();
  }

  void OnCompletion(const Completion& completion) {
    --under_way_;
    if (!completion.ok()) ++failed_;
  }
  // Failed requests, including those that have not completed.
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
    uint64_t offset = 0;  // of the first stuck page
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
    for (const auto end = Clock::now() + kTimeout; under_way_ > 0 && Clock::now() < end;) {
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

// Alternates a steady writer alone and the same next to requests whose pages are stuck.
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

// The time and status of one request. Completions of others go to `on_other`.
inline nlohmann::json TimeOne(World& world, const auto& post, const auto& on_other) {
  const auto begin = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  post();
  while (Clock::now() - begin < StuckRequests::kHoldMax + kTimeout) {
    for (const Completion& one : world.PollAny()) {
      if (one.id.value() == 0) return {{"seconds", seconds()}, {"status", NameOf(one.status)}};
      on_other(one);
    }
  }
  return {{"seconds", seconds()}, {"status", "none"}};
}

// Two pages are stuck, as many as there are pager threads at the start; a third queue pair needs a
// page that was never touched.
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
  if (!stuck.End()) Fail("a request with a released page has not completed");
  return found;
}

// A page-in of the responder takes 1.2 s, which is longer than the retries in `settings`.
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
  windows.push_back(MeasureStuck(Meeting::kAbsent, false, 0));  // the noise of the machine
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
