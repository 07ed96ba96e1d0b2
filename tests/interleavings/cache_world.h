#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/time.h"
#include "cache/core.h"
#include "tests/interleavings/scheduler.h"

namespace verbena::interleavings {

inline constexpr uint64_t kPage = 4'096;
inline constexpr uint64_t kBuffer = 0x10000;  // what is given up
inline constexpr uint64_t kOther = 0x80000;

// A kernel with one page that can be given up, and an adapter with fixed pages. A generation of the
// page is what is mapped there until it is unmapped.
struct CacheSystem {
  struct Registered {
    MemoryRange range;
    Access access;
    uint64_t generation = 0;  // of the page, when it was registered
  };

  std::map<uint32_t, Registered> registered;  // by L_Key and R_Key
  uint32_t last_key = 0;
  uint64_t generation = 0;

  // A munmap that is reported, as the kernel does it.
  MemoryListener* listener = nullptr;
  bool is_pending = false;  // from before it takes effect until the event is read
  bool is_queued = false;   // the event can be read
  bool was_read = false;

  // What PageEvents does for one event, if there is one.
  void ReadEvent() {
    listener->OnReading();
    Point();
    const bool is_read = std::exchange(is_queued, false);
    if (is_read) {
      is_pending = false;
      was_read = true;
    }
    Point();
    if (is_read) listener->OnGivenUp(kBuffer, kBuffer + kPage - 1);
    listener->OnRead();
  }
};

class SystemBackend final : public RegistrationBackend {
 public:
  explicit SystemBackend(CacheSystem& system) : system_(system) {}

  [[nodiscard]] bool follows_mappings() const override { return false; }
  [[nodiscard]] ErrorOr<CachedKeys> Register(MemoryRange range, Access access) override {
    Point();
    const CachedKeys keys = Add({range, access, system_.generation});
    Point();
    return keys;
  }
  void Deregister(const CachedKeys& keys) override {
    Point();
    Expect(system_.registered.erase(keys.l_key.value()) == 1, "deregistered twice");
  }
  [[nodiscard]] ErrorOr<CachedKeys> Rekey(const CachedKeys& keys, Access access) override {
    Point();
    const auto found = system_.registered.find(keys.l_key.value());
    Expect(found != system_.registered.end(), "rekeyed after its end");
    CacheSystem::Registered changed = found->second;
    changed.access = access;
    system_.registered.erase(found);
    return Add(changed);
  }

 private:
  CachedKeys Add(const CacheSystem::Registered& made) {
    const uint32_t key = ++system_.last_key;
    system_.registered.emplace(key, made);
    return {.l_key = Key(key), .r_key = Key(key)};
  }

  CacheSystem& system_;
};

class SystemEvents final : public MemoryEvents {
 public:
  explicit SystemEvents(CacheSystem& system) : system_(system) {}

  [[nodiscard]] bool Watch(uint64_t /*address*/, uint64_t /*length*/) override { return true; }
  [[nodiscard]] bool IsPending() const override {
    Point();
    return system_.is_pending;
  }
  void ReadPending() override { system_.ReadEvent(); }
  [[nodiscard]] bool Add(MemoryListener& listener) override {
    system_.listener = &listener;
    return true;
  }
  void Remove(MemoryListener& /*listener*/) override { system_.listener = nullptr; }

 private:
  CacheSystem& system_;
};

// A cache on such a system, and what its threads do.
class CacheWorld : public Scenario {
 public:
  explicit CacheWorld(const CacheOptions& options)
      : core_(std::make_unique<cache::Core>(
            std::make_unique<SystemBackend>(system_), options,
            cache::EventSource{.own = std::make_unique<SystemEvents>(system_)},
            [] { return Time(Seconds(1)); })) {}

  // All is deregistered, whatever happened.
  void Finish() override {
    Expect(core_->IsConsistent(), "the tables contradict each other");
    Expect(core_->Shut(), "an entry is in use that no handle has");
    Expect(system_.registered.empty(), "something stays registered");
  }

 protected:
  static cache::RegistrationRequest Request(uint64_t address, uint64_t length, Access access) {
    return {{address, address + length - 1}, access};
  }

  // Acquires and checks what it gets, as long as the handle lasts. Without room it does nothing.
  void Use(uint64_t address, uint64_t length = kPage, Access access = Access::kLocal) {
    const auto request = Request(address, length, access);
    const uint64_t generation = system_.generation;
    const auto hit = core_->Acquire(request);
    if (!hit) return Expect(hit.error().code == ErrorCode::kLimit, "refused");
    const CachedKeys keys = core_->KeysOf(hit->number);
    // Memory that changes while it is acquired is the program's mistake.
    const bool is_same = address != kBuffer || system_.generation == generation;
    CheckHeld(keys, request, is_same ? generation : ~uint64_t{0});
    Point();
    CheckHeld(keys, request, ~uint64_t{0});
    core_->Release(*hit);
  }
  void CheckHeld(const CachedKeys& keys, const cache::RegistrationRequest& request,
                 uint64_t generation) const {
    const auto found = system_.registered.find(keys.l_key.value());
    Expect(found != system_.registered.end(), "a handle of what is not registered");
    const CacheSystem::Registered& made = found->second;
    Expect(made.range.address <= request.bytes.first &&
               request.bytes.last < made.range.address + made.range.length,
           "a handle of other bytes");
    Expect(made.access.Has(request.access), "a handle without its rights");
    Expect(!made.access.HasAny(cache::kExactRights) || request.is_exact(),
           "a handle that opens bytes to peers");
    if (request.bytes.first == kBuffer && generation != ~uint64_t{0}) {
      Expect(made.generation == generation, "a stale hit");
    }
  }

  // munmap of the page, over which other memory is mapped at once: the thread returns when the
  // reader has the event.
  void Munmap() {
    Point();
    system_.is_pending = true;
    Point();
    ++system_.generation;
    Point();
    system_.is_queued = true;
    const std::function<bool()> is_read = [this] { return !system_.is_queued; };
    WaitFor(is_read);
  }
  // The thread that reads events, unless another one was sooner.
  void ReadEvent() {
    const std::function<bool()> has_event = [this] {
      return system_.is_queued || system_.was_read;
    };
    WaitFor(has_event);
    system_.ReadEvent();
  }

  CacheSystem system_;
  std::unique_ptr<cache::Core> core_;
};

}  // namespace verbena::interleavings
