#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>

#include <gtest/gtest.h>

#include "verbena/registration_cache.h"

namespace verbena {

// A backend that only checks how a cache uses it: each registration ends once, and no two threads
// change one at a time. Its state outlives it, so that a test can inspect what is left.
class FakeBackend final : public RegistrationBackend {
 public:
  struct Made {
    MemoryRange range = {};
    Access access = {};
    uint64_t at = 0;  // the count of registrations so far
  };
  struct State {
    std::mutex mutex;
    std::map<uint32_t, Made> made;  // by L_Key: all that is registered
    uint32_t last_key = 0;
    uint64_t registered = 0;
    uint64_t deregistered = 0;
    uint64_t rekeyed = 0;
    bool can_rekey = true;
    bool follows_mappings = true;
    bool has_no_memory = false;  // Register and Rekey throw
    MemoryEvents* events = nullptr;
    uint64_t length_max = ~uint64_t{0};    // longer ranges are refused...
    Access refused = Access::kNone;        // ...and these rights
    void (*on_register)(void*) = nullptr;  // called within a registration
    void* argument = nullptr;

    [[nodiscard]] size_t count() {
      const std::lock_guard lock(mutex);
      return made.size();
    }
    [[nodiscard]] Made Find(Key key) {
      const std::lock_guard lock(mutex);
      const auto found = made.find(key.value());
      return found != made.end() ? found->second : Made{};
    }
  };

  explicit FakeBackend(std::shared_ptr<State> state) : state_(std::move(state)) {}

  [[nodiscard]] bool follows_mappings() const override { return state_->follows_mappings; }

  [[nodiscard]] MemoryEvents* events() override { return state_->events; }

  [[nodiscard]] ErrorOr<CachedKeys> Register(MemoryRange range, Access access) override {
    if (state_->has_no_memory) throw std::bad_alloc();
    if (state_->on_register != nullptr) state_->on_register(state_->argument);
    const std::lock_guard lock(state_->mutex);
    if (range.length > state_->length_max || access.HasAny(state_->refused)) {
      return tl::unexpected(Error{ErrorCode::kSystem, "refused"});
    }
    return Add({range, access, ++state_->registered});
  }
  void Deregister(const CachedKeys& keys) override {
    const std::lock_guard lock(state_->mutex);
    EXPECT_EQ(state_->made.erase(keys.l_key.value()), 1U) << "not registered";
    ++state_->deregistered;
  }
  [[nodiscard]] ErrorOr<CachedKeys> Rekey(const CachedKeys& keys, Access access) override {
    const std::lock_guard lock(state_->mutex);
    if (state_->has_no_memory) throw std::bad_alloc();
    if (!state_->can_rekey) return tl::unexpected(Error{ErrorCode::kNotSupported});
    if (access.HasAny(state_->refused)) return tl::unexpected(Error{ErrorCode::kSystem, "refused"});
    const auto found = state_->made.find(keys.l_key.value());
    EXPECT_NE(found, state_->made.end());
    Made made = found->second;
    state_->made.erase(found);
    made.access = access;
    ++state_->rekeyed;
    return Add(made);
  }

 private:
  CachedKeys Add(const Made& made) {
    const uint32_t key = ++state_->last_key;
    state_->made[key] = made;
    return {.l_key = Key(key), .r_key = Key(key)};
  }

  const std::shared_ptr<State> state_;
};

}  // namespace verbena
