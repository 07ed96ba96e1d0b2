#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "adapter/control/guest_control.h"
#include "base/random.h"
#include "host/messages.h"
#include "odp/managed_pages.h"
#include "sim/endnode.h"
#include "sim/hypervisor.h"

namespace verbena::sim {

// The agent of an endnode whose managed memory is that of a guest: carries the hypervisor's
// messages out on the real GuestControl, as host::Agent does in a process. One thread.
class GuestAgent final : public HypervisorGuest {
 public:
  struct Parts {
    Hypervisor& hypervisor;
    Endnode& node;
    adapter::GuestControl& control;
    const odp::ManagedArena& arena;
    Key region;
    uint64_t region_bytes = 0;
  };
  // `on_grant`: with so many bytes, before they take effect.
  GuestAgent(const Parts& parts, Random random, std::function<void(uint64_t)> on_grant);
  GuestAgent(const GuestAgent&) = delete;
  GuestAgent& operator=(const GuestAgent&) = delete;
  ~GuestAgent() override { parts_.hypervisor.Remove(number_); }

  // Before the pager runs.
  void Step();
  // Nothing may be used before.
  [[nodiscard]] bool has_grant() const { return has_grant_; }

  // For the oracle: the pages of the region that are out and whose memory has left.
  [[nodiscard]] std::optional<Interval> emptied() const { return emptied_; }
  [[nodiscard]] uint64_t taken() const { return taken_; }
  [[nodiscard]] uint64_t emptied_count() const { return emptied_count_; }
  [[nodiscard]] uint64_t awaited() const { return awaited_; }

  [[nodiscard]] uint64_t resident_bytes() const override;
  void Receive(const host::BrokerMessage& message) override;
  void OnConnected() override;

 private:
  void TakeEvents();
  void HandleRegion(const host::RegionRequestMessage& request);
  void Acknowledge();
  void Report();
  void SwapOut(bool by_force);
  void SendEvent(host::RegionEventMessage::Kind kind);

  const Parts parts_;
  Random random_;
  const std::function<void(uint64_t)> on_grant_;
  const Hypervisor::GuestNumber number_;
  uint64_t grant_ = 0;
  bool has_grant_ = false;
  std::optional<host::GrantMessage> unobeyed_;
  std::optional<Interval> wanted_;  // offsets: what is to be swapped out, or is
  std::optional<Interval> emptied_;
  bool is_out_ = false;
  bool is_awaited_ = false;
  uint64_t taken_ = 0;
  uint64_t emptied_count_ = 0;
  uint64_t awaited_ = 0;
};

// A guest whose adapter is not simulated: it has as much in memory as it wants and may, takes its
// time to give it up, and ends without a word. One thread.
class PressureGuest final : public HypervisorGuest {
 public:
  PressureGuest(Hypervisor& hypervisor, const VirtualClock& clock, Random random);
  PressureGuest(const PressureGuest&) = delete;
  PressureGuest& operator=(const PressureGuest&) = delete;
  ~PressureGuest() override { hypervisor_.Remove(number_); }

  void Step();
  [[nodiscard]] uint64_t resident_bytes() const override { return held_; }
  void Receive(const host::BrokerMessage& message) override;
  void OnConnected() override;

 private:
  Hypervisor& hypervisor_;
  const VirtualClock& clock_;
  Random random_;
  const Hypervisor::GuestNumber number_;
  uint64_t wanted_ = 0;
  uint64_t held_ = 0;
  uint64_t faults_ = 0;
  host::GrantMessage grant_;
  Time obeys_at_ = Time::Never();
};

}  // namespace verbena::sim
