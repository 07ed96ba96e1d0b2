#pragma once

#include <cstdint>

#include "base/time.h"
#include "host/arbiter_options.h"

namespace verbena::host {

// What a guest tells about its use of memory. All but `is_waiting` only ever grow.
struct GuestUse {
  uint64_t faults = 0;    // pages that it had to page in, or to fill with zeros
  uint64_t activity = 0;  // anything that shows that it is in use: packets, for example
  bool is_waiting = false;

  friend bool operator==(const GuestUse&, const GuestUse&) = default;
};

// Page faults of its adapter, by the stage of translation that had no page there: the first is
// resolved in the guest's process, the second by its pager, within the grant.
struct StageCounts {
  uint64_t first = 0;
  uint64_t second = 0;

  friend bool operator==(const StageCounts&, const StageCounts&) = default;
};

// The memory of one guest: what it was granted, what it may still hold, and what it needs.
//
// A grant that is lowered frees nothing at once. Until the guest has acknowledged it, and the
// kernel says that no more is in memory, the guest is accounted with what it had before. So
//
//   committed() >= what the guest holds or may come to hold
//
// as long as the guest keeps its grants. A guest that does not acknowledge in time is a rogue: the
// kernel's measurement is believed in place of its word, and what it holds above its grant is
// punched out of its memory.
//
// A value. The arbiter owns it.
class GuestAccount {
 public:
  // `held`: what a guest that had an earlier broker was granted there.
  GuestAccount(const GuestLimits& limits, uint64_t held, Time now);

  [[nodiscard]] const GuestLimits& limits() const { return limits_; }
  [[nodiscard]] uint64_t grant() const { return grant_; }
  // The number of the last change of the grant.
  [[nodiscard]] uint64_t sequence() const { return sequence_; }
  [[nodiscard]] uint64_t committed() const;
  [[nodiscard]] uint64_t resident() const { return resident_; }
  [[nodiscard]] bool is_rogue() const { return is_rogue_; }
  // Whether it has yet to acknowledge a lower grant.
  [[nodiscard]] bool is_lowering() const { return acknowledged_ < lowered_ && !is_rogue_; }
  // Whether it has yet to give something up.
  [[nodiscard]] bool owes() const;
  [[nodiscard]] Time deadline() const { return deadline_; }
  // How often it had to be punched since it last complied.
  [[nodiscard]] uint32_t punches() const { return punches_; }

  // REQUIRES: it is not lowering.
  void Raise(uint64_t to);
  void Lower(uint64_t to, Time deadline);

  void OnAcknowledged(uint64_t sequence);
  // As the kernel measured it. A guest above its grant has until `deadline`.
  void OnResident(uint64_t resident, Time deadline);
  // The deadline has passed. Returns how much must be punched out.
  [[nodiscard]] uint64_t OnLate(Time again);

  void SetRegistered(uint64_t bytes) { registered_ = bytes; }
  void SetQuiesced(uint64_t bytes) { quiesced_ = bytes; }
  void OnUse(const GuestUse& use, Time now);
  void OnInterest(Time now);
  // Once a period: how much of the recent past the guest was active.
  void Age(Time now);

  // How much it could use. `fault_memory`, `slack`: see ArbiterOptions, Arbiter.
  [[nodiscard]] uint64_t Demand(Time now, Duration fault_memory, uint64_t slack) const;
  // Its weight, less if it holds memory that it does not use.
  [[nodiscard]] double EffectiveWeight(double idle_tax) const;
  [[nodiscard]] Time last_used() const { return last_used_; }

 private:
  void Settle(Time deadline);
  void Pardon();

  GuestLimits limits_;
  uint64_t grant_ = 0;
  uint64_t bound_ = 0;  // the highest grant that it may still believe in
  uint64_t resident_ = 0;
  uint64_t registered_ = 0;
  uint64_t quiesced_ = 0;
  uint64_t sequence_ = 0;
  uint64_t lowered_ = 0;  // the sequence of the last lowering
  uint64_t acknowledged_ = 0;
  bool is_rogue_ = false;
  bool was_used_ = true;
  uint32_t punches_ = 0;
  Time deadline_ = Time::Never();
  GuestUse use_;
  Time last_fault_;
  Time last_used_;
  double activity_ = 1;  // 0: idle, 1: in use
};

}  // namespace verbena::host
