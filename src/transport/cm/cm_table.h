#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/slot_table.h"
#include "base/time.h"
#include "transport/cm/deadlines.h"
#include "verbena/strong_id.h"

namespace verbena::transport {

// Objects with ids that peers see, and with deadlines. An id consists of a slot and a generation,
// masked with a number that peers do not know. No id is 0, which means "not known" on the wire, and
// none is reused. Constant-time look-up. Its owner guards it.
template <class Object, class Id>
class CmTable {
 public:
  CmTable(std::size_t capacity, uint32_t id_mask) : slots_(capacity), id_mask_(id_mask) {}

  // nullopt if the table is full.
  [[nodiscard]] std::optional<Id> Insert(const Object& object) {
    auto slot = slots_.Insert({object});
    if (slot && IdOf(*slot) == Id(0)) {
      const auto other = slots_.Insert({object});
      slots_.Erase(*slot);
      slot = other;
    }
    if (!slot) return std::nullopt;
    return IdOf(*slot);
  }

  // nullptr for an id that does not exist, or no longer exists.
  [[nodiscard]] Object* Find(Id id) {
    Entry* const entry = slots_.Find(SlotOf(id));
    return entry == nullptr ? nullptr : &entry->object;
  }

  // To be called after each input to `id`, because its deadline may have changed.
  void UpdateDeadline(Id id) {
    Entry* const entry = slots_.Find(SlotOf(id));
    CHECK(entry != nullptr);
    const Time at = entry->object.deadline();
    deadlines_.Move(id, std::exchange(entry->deadline, at), at);
  }
  void Erase(Id id) {
    const Entry* const entry = slots_.Find(SlotOf(id));
    CHECK(entry != nullptr);
    deadlines_.Move(id, entry->deadline, Time::Never());
    slots_.Erase(SlotOf(id));
  }

  [[nodiscard]] Time next_time() const { return deadlines_.next(); }
  [[nodiscard]] std::optional<Id> Due(Time now) const { return deadlines_.Due(now); }
  [[nodiscard]] std::size_t size() const { return slots_.size(); }

  // Calls fn(id, object) for each.
  template <class Fn>
  void ForEach(Fn fn) const {
    slots_.ForEach([&](SlotId slot, const Entry& entry) { fn(IdOf(slot), entry.object); });
  }
  [[nodiscard]] bool IsConsistent() const {
    std::size_t timed = 0;
    bool is_good = slots_.IsConsistent();
    slots_.ForEach([&](SlotId, const Entry& entry) {
      if (entry.deadline != Time::Never()) ++timed;
      is_good = is_good && entry.deadline == entry.object.deadline();
    });
    return is_good && timed == deadlines_.size();
  }

 private:
  static constexpr unsigned kIndexBits = 16;
  using SlotId = StrongId<CmTable, uint32_t>;

  struct Entry {
    Object object;
    Time deadline = Time::Never();  // its key in deadlines_
  };

  [[nodiscard]] Id IdOf(SlotId slot) const { return Id(slot.value() ^ id_mask_); }
  [[nodiscard]] SlotId SlotOf(Id id) const { return SlotId(id.value() ^ id_mask_); }

  SlotTable<Entry, SlotId, kIndexBits> slots_;
  const uint32_t id_mask_;
  Deadlines<Id> deadlines_;
};

}  // namespace verbena::transport
