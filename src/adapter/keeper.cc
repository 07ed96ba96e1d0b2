#include "adapter/keeper.h"

#include <poll.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <utility>

#include "adapter/clock.h"
#include "base/quiet_thread.h"
#include "memory/signal_guard.h"

namespace verbena::adapter {
namespace {

timespec AsTimespec(Duration duration) {
  constexpr int64_t kSecond = 1'000'000'000;
  return {.tv_sec = static_cast<time_t>(duration.nanoseconds() / kSecond),
          .tv_nsec = duration.nanoseconds() % kSecond};
}

}  // namespace

Keeper::Keeper(Engine& engine, const EventFile& wake, const Options& options)
    : engine_(engine),
      wake_(wake),
      poller_waits_(options.poller_waits),
      away_min_(options.away_min),
      away_max_(options.away_max),
      linger_(options.linger) {
  thread_ = StartQuietThread("verbena-keeper", [this] { Work(); });
}

void Keeper::Stop() {
  if (!thread_.joinable()) return;
  stops_.store(true);
  wake_.Signal();
  thread_.join();
}

void Keeper::BeAttentive() {
  // The keeper says that it is away before it asks who polls; here it is the other way round. So
  // one of the two sees the other.
  engine_.ForgetPolls();
  if (is_away_.load()) wake_.Signal();
}

void Keeper::Notice() {
  // The keeper says that it is back before it looks whether there is work, and what is noticed was
  // done before: one of the two sees the other.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!is_away_.load()) wake_.Signal();
}

void Keeper::Work() {
  // Its sleeps are shorter than what the system rounds them to by default.
  prctl(PR_SET_TIMERSLACK, 1UL);
  Duration away = away_min_;
  while (!stops_.load()) {
    const Roused roused = SleepAttentive();
    memory::SignalGuard::EnsureInstalled();
    const bool served = Serve();
    if (served) away = away_min_;
    // Roused for nothing: a poller was quicker. It will be so again.
    bool in_vain = roused == Roused::kByPacket && !served;
    is_away_.store(true);
    while (!stops_.load() && (in_vain || SomebodyPolls())) {
      StayAway(away);
      away = std::min(away * 2, away_max_);
      FinishWork();
      in_vain = false;
    }
    is_away_.store(false);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

Keeper::Roused Keeper::SleepAttentive() {
  int sockets = 0;
  {
    const EngineLock lock(engine_);
    engine_.set_keeper_sleeps(true);
    sockets = engine_.endpoints().fd();
  }
  std::array<pollfd, 4> files{{{.fd = sockets, .events = POLLIN, .revents = 0},
                               {.fd = engine_.alarm().fd(), .events = POLLIN, .revents = 0},
                               {.fd = wake_.fd(), .events = POLLIN, .revents = 0},
                               {.fd = engine_.address_fd(), .events = POLLIN, .revents = 0}}};
  poll(files.data(), files.size(), -1);
  wake_ups_.fetch_add(1, std::memory_order_relaxed);
  if (files[2].revents != 0) static_cast<void>(wake_.Wait());
  const EngineLock lock(engine_);
  engine_.set_keeper_sleeps(false);
  if (files[1].revents != 0) engine_.alarm().Reset();
  if (files[3].revents != 0) engine_.LookAtAddresses();
  const bool otherwise = std::any_of(files.begin() + 1, files.end(),
                                     [](const pollfd& file) { return file.revents != 0; });
  return files[0].revents != 0 && !otherwise ? Roused::kByPacket : Roused::kOtherwise;
}

void Keeper::StayAway(Duration duration) {
  std::array<pollfd, 2> files{{{.fd = wake_.fd(), .events = POLLIN, .revents = 0},
                               {.fd = engine_.address_fd(), .events = POLLIN, .revents = 0}}};
  const timespec timeout = AsTimespec(duration);
  ppoll(files.data(), files.size(), &timeout, nullptr);
  wake_ups_.fetch_add(1, std::memory_order_relaxed);
  if (files[0].revents != 0) static_cast<void>(wake_.Wait());
  if (files[1].revents != 0) {
    const EngineLock lock(engine_);
    engine_.LookAtAddresses();
  }
}

bool Keeper::Serve() {
  if (GiveWay()) return false;
  bool served = false;
  Time busy_at = Now();
  do {
    const EngineLock lock(engine_);
    if (!engine_.Pass()) continue;
    served = true;
    busy_at = Now();
  } while (served && !stops_.load() && !GiveWay() && Now() - busy_at < linger_);
  return served;
}

bool Keeper::SomebodyPolls() const { return Now() < engine_.polled_until(); }

// It may have the processor of one who polls: then the two would take turns for ever, each waiting
// for the time slice of the other to end. One who does something else with it, such as looking at
// memory for a peer's write, is seldom asked.
bool Keeper::GiveWay() {
  if (SomebodyPolls()) return true;
  if (Now() >= engine_.polled_until() + poller_waits_) return false;
  if (skips_ > 0) {
    --skips_;
    return false;
  }
  StayAway(away_min_);
  const bool polls = SomebodyPolls();
  constexpr uint32_t kSkipsMax = 63;
  in_vain_ = polls ? in_vain_ / 2 : std::min(in_vain_ * 2 + 1, kSkipsMax);
  skips_ = in_vain_;
  return polls;
}

// Of a poller that has not come back yet.
void Keeper::FinishWork() {
  if (SomebodyPolls()) return;
  const EngineLock lock(engine_);
  if (engine_.has_work()) engine_.Pass();
}

}  // namespace verbena::adapter
