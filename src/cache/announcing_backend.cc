// AnnouncingBackend of peer_buffers.h.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/rollback.h"
#include "verbena/peer_buffers.h"

namespace verbena {

// All registrations, and which of them the server knows.
struct AnnouncingBackend::State {
  struct Record {
    MemoryRange range;
    Access access;
    std::optional<uint32_t> number = {};  // of its notice, while the server knows it
  };
  using Records = std::map<Key, Record>;  // by L_Key, of which each registration has its own

  State(std::unique_ptr<RegistrationBackend> its_below, Announce its_announce)
      : below(std::move(its_below)), announce(std::move(its_announce)) {}

  void Insert(Records::node_type record, const CachedKeys& keys) VERBENA_EXCLUDES(mutex) {
    record.key() = keys.l_key;
    const MutexLock lock(mutex);
    CHECK(records.insert(std::move(record)).inserted);
  }
  Records::node_type Extract(const CachedKeys& keys) VERBENA_EXCLUDES(mutex) {
    const MutexLock lock(mutex);
    auto record = records.extract(keys.l_key);
    CHECK(!record.empty());
    return record;
  }
  // The record is in no table meanwhile: no other thread has to do with this registration.
  bool SendRegistered(Record& record, const CachedKeys& keys) VERBENA_EXCLUDES(mutex) {
    if (!record.access.HasAny(Access::kRemote)) return true;
    BufferNotice notice{.range = record.range, .access = record.access, .r_key = keys.r_key};
    {
      const MutexLock lock(mutex);
      notice.number = ++last_number;
    }
    if (!announce(notice)) return false;
    record.number = notice.number;
    return true;
  }
  void SendEnded(Record& record) const {
    if (!record.number) return;
    announce({.kind = BufferNotice::Kind::kEnded, .number = *record.number});
    record.number.reset();
  }

  const std::unique_ptr<RegistrationBackend> below;
  const Announce announce;
  Mutex mutex;
  Records records VERBENA_GUARDED_BY(mutex);
  uint32_t last_number VERBENA_GUARDED_BY(mutex) = 0;
};

AnnouncingBackend::AnnouncingBackend(std::unique_ptr<RegistrationBackend> below, Announce announce)
    : state_(std::make_unique<State>(std::move(below), std::move(announce))) {}
AnnouncingBackend::~AnnouncingBackend() = default;

bool AnnouncingBackend::follows_mappings() const { return state_->below->follows_mappings(); }
MemoryEvents* AnnouncingBackend::events() { return state_->below->events(); }

ErrorOr<CachedKeys> AnnouncingBackend::Register(MemoryRange range, Access access) {
  State::Records made;  // what allocates comes first
  auto record = made.extract(made.emplace(Key(), State::Record{range, access}).first);
  auto keys = state_->below->Register(range, access);
  if (!keys) return keys;
  if (!state_->SendRegistered(record.mapped(), *keys)) {
    state_->below->Deregister(*keys);
    return Fail(Error{ErrorCode::kSystem, "the server cannot be reached to announce a buffer"});
  }
  state_->Insert(std::move(record), *keys);
  return keys;
}

// The server hears of the end before the key ends.
void AnnouncingBackend::Deregister(const CachedKeys& keys) {
  auto record = state_->Extract(keys);
  state_->SendEnded(record.mapped());
  state_->below->Deregister(keys);
}

// If the server cannot be reached, it does not know the new key: it finds nothing, as after the end
// of the connection.
ErrorOr<CachedKeys> AnnouncingBackend::Rekey(const CachedKeys& keys, Access access) {
  auto record = state_->Extract(keys);
  state_->SendEnded(record.mapped());
  Rollback put_back([&] { state_->Insert(std::move(record), keys); });  // if it throws
  auto changed = state_->below->Rekey(keys, access);
  put_back.Keep();
  if (changed) record.mapped().access = access;
  const CachedKeys& now = changed ? *changed : keys;
  static_cast<void>(state_->SendRegistered(record.mapped(), now));
  state_->Insert(std::move(record), now);
  return changed;
}

}  // namespace verbena
