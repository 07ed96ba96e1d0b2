// The claims of src/cache/hit.h, in every order of a few threads: an entry that is acquired does
// not go away, is what was asked for, and is not stale. src/cache is compiled with cache_sync.h.

#include <cstdio>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/interleavings/cache_world.h"
#include "tests/interleavings/scheduler.h"

namespace verbena::interleavings {
namespace {

constexpr Access kPeer = Access::kLocal | Access::kRemoteRead;

using Body = std::function<void()>;
using Bodies = std::vector<Body>;

template <class World>
void ExpectInEveryOrder(int preemptions_max, uint64_t runs_min) {
  const Exploration explored = Explore(preemptions_max, [] { return std::make_unique<World>(); });
  EXPECT_EQ(explored.failure, "");
  EXPECT_GE(explored.runs, runs_min) << "too few orders to mean anything";
  std::printf("%llu orders\n", static_cast<unsigned long long>(explored.runs));
}

CacheOptions Small(uint32_t entries) {
  CacheOptions options;
  options.entries_max = entries;
  return options;
}

// Claims 1 and 2.
struct HitsAndCollector final : CacheWorld {
  HitsAndCollector() : CacheWorld(Small(2)) { Use(kBuffer); }
  Bodies Threads() override {
    return {[this] { Use(kBuffer); }, [this] { core_->Collect(true); }, [this] { Use(kBuffer); }};
  }
};
TEST(CacheInterleavings, AHitHoldsAgainstTheCollector) {
  ExpectInEveryOrder<HitsAndCollector>(2, 1'000);
}

// A reader that has the hint, but no reference yet, when the collector looks.
struct LateHitAndCollector final : CacheWorld {
  LateHitAndCollector() : CacheWorld(Small(2)) { Use(kBuffer); }
  Bodies Threads() override {
    return {[this] { Use(kBuffer); }, [this] { core_->Collect(true); }};
  }
};
TEST(CacheInterleavings, AHitThatIsUnderWayHoldsAgainstTheCollector) {
  ExpectInEveryOrder<LateHitAndCollector>(3, 1'000);
}

// The number of the one is given to the other.
struct HitAndEviction final : CacheWorld {
  HitAndEviction() : CacheWorld(Small(1)) { Use(kBuffer); }
  Bodies Threads() override {
    return {[this] { Use(kBuffer); }, [this] { Use(kOther); }, [this] { Use(kBuffer); }};
  }
};
TEST(CacheInterleavings, AHitIsOfTheBytesThatWereAskedFor) {
  ExpectInEveryOrder<HitAndEviction>(2, 1'000);
}

// The second gives the entry of the first more rights in place, or registers its own.
struct HitAndChange final : CacheWorld {
  HitAndChange() : CacheWorld(Small(2)) { Use(kBuffer, kPage, Access::kLocalRead); }
  Bodies Threads() override {
    return {[this] { Use(kBuffer, kPage, Access::kLocalRead); },
            [this] { Use(kBuffer, kPage, Access::kLocal); }};
  }
};
TEST(CacheInterleavings, AHitKeepsItsRightsWhileAnotherWantsMore) {
  ExpectInEveryOrder<HitAndChange>(3, 1'000);
}

struct Misses final : CacheWorld {
  Misses() : CacheWorld(Small(4)) {}
  Bodies Threads() override {
    return {[this] { Use(kOther, 2 * kPage); },
            [this] { Use(kOther + kPage, 2 * kPage, Access::kLocalRead); }};
  }
};
TEST(CacheInterleavings, MissesOfOverlappingBytesMerge) { ExpectInEveryOrder<Misses>(3, 1'000); }

// Claim 3, for the thread that unmaps and for another one.
struct MunmapAndHits final : CacheWorld {
  MunmapAndHits() : CacheWorld(Small(2)) { Use(kBuffer); }
  Bodies Threads() override {
    return {[this] {
              Munmap();
              Use(kBuffer);
            },
            [this] { ReadEvent(); },
            [this] {
              Use(kBuffer);
              Use(kBuffer);
            }};
  }
};
TEST(CacheInterleavings, NoHitAfterAMunmapIsStale) { ExpectInEveryOrder<MunmapAndHits>(2, 1'000); }

// The same while entries are changed, parked and given to another.
struct MunmapAndExclusive final : CacheWorld {
  static CacheOptions Options() {
    CacheOptions options = Small(2);
    options.exclusive = true;
    return options;
  }
  MunmapAndExclusive() : CacheWorld(Options()) { Use(kBuffer); }
  Bodies Threads() override {
    return {[this] {
              Munmap();
              Use(kBuffer, kPage, kPeer);
            },
            [this] { ReadEvent(); }, [this] { Use(kBuffer); }};
  }
};
TEST(CacheInterleavings, NoParkedEntryIsStale) { ExpectInEveryOrder<MunmapAndExclusive>(2, 1'000); }

// A program that announces gives the memory up afterwards.
struct Announcement final : CacheWorld {
  static CacheOptions Options() {
    CacheOptions options = Small(2);
    options.announces = true;
    return options;
  }
  Announcement() : CacheWorld(Options()) { Use(kBuffer); }
  Bodies Threads() override {
    return {[this] {
              core_->Announce({kBuffer, kBuffer});
              ++system_.generation;
              Use(kBuffer);
            },
            [this] {
              Use(kOther);
              Use(kOther);
            },
            [this] {
              core_->Announce({kOther, kOther});
            }};
  }
};
TEST(CacheInterleavings, NothingFromBeforeAnAnnouncementIsFound) {
  ExpectInEveryOrder<Announcement>(2, 1'000);
}

// An R_Key has one handle, and is refused when that is released.
struct RemoteWorld : CacheWorld {
  using CacheWorld::CacheWorld;
  void UseRemotely() {
    const auto request = Request(kBuffer, kPage, kPeer);
    const auto hit = core_->Acquire(request);
    if (!hit) return Expect(hit.error().code == ErrorCode::kLimit, "refused");
    const CachedKeys keys = core_->KeysOf(hit->number);
    CheckHeld(keys, request, ~uint64_t{0});
    Expect(held_.insert(keys.r_key.value()).second, "two handles have one R_Key");
    Point();
    held_.erase(keys.r_key.value());
    core_->Release(*hit);
    const auto found = system_.registered.find(keys.r_key.value());
    Expect(found == system_.registered.end() || !found->second.access.HasAny(Access::kRemote),
           "a released R_Key is not refused");
  }
  std::set<uint32_t> held_;
};
struct RemoteKeys final : RemoteWorld {
  RemoteKeys() : RemoteWorld(Small(2)) {}
  Bodies Threads() override {
    return {[this] { UseRemotely(); }, [this] { UseRemotely(); }, [this] { core_->Collect(true); }};
  }
};
TEST(CacheInterleavings, AReleasedRemoteKeyIsRefused) { ExpectInEveryOrder<RemoteKeys>(2, 1'000); }

// A reader with an old hint takes a reference, for a moment, of what has its number now. A release
// that is late meets another entry, too.
struct LateHitAndRemoteKey final : RemoteWorld {
  LateHitAndRemoteKey() : RemoteWorld(Small(1)) { Use(kBuffer); }
  Bodies Threads() override {
    return {[this] { Use(kBuffer); },
            [this] {
              UseRemotely();
              core_->Collect(true);
            }};
  }
};
TEST(CacheInterleavings, AReaderWithAnOldHintPutsOffNoRelease) {
  ExpectInEveryOrder<LateHitAndRemoteKey>(3, 1'000);
}

// One that releases immediately: each handle has a registration of its own, which ends with it.
struct WithoutCache final : CacheWorld {
  static CacheOptions Options() {
    CacheOptions options = Small(2);
    options.release_immediately = true;
    return options;
  }
  WithoutCache() : CacheWorld(Options()) {}
  Bodies Threads() override {
    return {[this] {
              Munmap();
              Use(kBuffer);
            },
            [this] { ReadEvent(); },
            [this] {
              Use(kBuffer);
              core_->Collect(true);
            }};
  }
};
TEST(CacheInterleavings, WithoutCacheNothingIsStaleEither) {
  ExpectInEveryOrder<WithoutCache>(2, 1'000);
}

// Handles outlive the cache, and the last one deregisters.
struct ShutWhileInUse final : CacheWorld {
  ShutWhileInUse() : CacheWorld(Small(2)) {
    first_ = core_->Acquire(Request(kBuffer, kPage, Access::kLocal)).value();
  }
  Bodies Threads() override {
    return {[this] { core_->Release(first_); }, [this] { static_cast<void>(core_->Shut()); },
            [this] { Use(kBuffer); }};
  }
  cache::Hit first_{};
};
TEST(CacheInterleavings, TheLastHandleDeregistersWhatIsShut) {
  ExpectInEveryOrder<ShutWhileInUse>(2, 1'000);
}

// --- The scheduler itself finds what it is for. ---

struct LostUpdate final : Scenario {
  Bodies Threads() override {
    const Body increment = [this] {
      const int seen = value_;
      Point();
      value_ = seen + 1;
    };
    return {increment, increment};
  }
  void Finish() override { lost += value_ == 1 ? 1 : 0; }
  static inline int lost = 0;
  int value_ = 0;
};
TEST(SchedulerTest, FindsALostUpdate) {
  EXPECT_EQ(Explore(0, [] { return std::make_unique<LostUpdate>(); }).failure, "");
  EXPECT_EQ(LostUpdate::lost, 0) << "it needs a preemption";
  EXPECT_EQ(Explore(1, [] { return std::make_unique<LostUpdate>(); }).failure, "");
  EXPECT_GT(LostUpdate::lost, 0);
}

struct Deadlock final : Scenario {
  Bodies Threads() override {
    return {[this] {
              const cache::MutexLock first(one_);
              const cache::MutexLock second(two_);
            },
            [this] {
              const cache::MutexLock first(two_);
              const cache::MutexLock second(one_);
            }};
  }
  cache::Mutex one_, two_;
};
TEST(SchedulerTest, FindsADeadlock) {
  EXPECT_EQ(Explore(0, [] { return std::make_unique<Deadlock>(); }).failure, "");
  const Exploration explored = Explore(1, [] { return std::make_unique<Deadlock>(); });
  EXPECT_NE(explored.failure.find("a deadlock, in the order "), std::string::npos);
}

}  // namespace
}  // namespace verbena::interleavings
