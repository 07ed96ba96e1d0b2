#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "managed/swap_file.h"
#include "sim/machine.h"

namespace verbena::sim {

// The faults of a swap file. Probabilities are out of 1000. A value type.
struct SwapTrouble {
  Duration latency_max = Microseconds(100);
  uint32_t read_failures = 0;   // per read
  uint32_t write_failures = 0;  // per write
  uint32_t corruption = 0;      // per read: a byte is changed
  Time fails_until;             // all writes fail, and the file does not grow
};

// The swap file of managed memory, in memory and in virtual time: each transfer takes a random
// time, and may fail. A write copies its first half at its start, and the rest at its end, so that
// a change in between tears it. `trouble` may change at any time. One thread.
class SlowSwap final : public managed::SwapFile {
 public:
  SlowSwap(const SwapTrouble& trouble, Random random, const VirtualClock& clock)
      : trouble_(trouble), random_(random), clock_(clock) {}

  [[nodiscard]] bool Start(const managed::Transfer& transfer) override;
  void Kick() override {}
  [[nodiscard]] size_t Reap(std::span<managed::TransferEnd> ends) override;
  [[nodiscard]] int fd() const override { return -1; }
  [[nodiscard]] int Reserve(uint64_t from, uint64_t to) override;
  [[nodiscard]] const char* method() const override { return "simulated"; }

  // No transfer is outstanding.
  [[nodiscard]] bool is_idle() const { return outstanding_.empty(); }

 private:
  static constexpr uint64_t kBlock = 4096;

  struct Outstanding {
    managed::Transfer transfer;
    std::vector<std::byte> begun;  // of a write
    Time ends_at;
  };

  [[nodiscard]] int64_t End(const Outstanding& ended);
  void Put(uint64_t offset, std::span<const std::byte> bytes);
  void Get(uint64_t offset, std::span<std::byte> bytes) const;
  void Corrupt(const managed::Transfer& transfer);

  const SwapTrouble& trouble_;
  Random random_;
  const VirtualClock& clock_;
  std::vector<Outstanding> outstanding_;
  std::unordered_map<uint64_t, std::array<std::byte, kBlock>> blocks_;  // by number
};

}  // namespace verbena::sim
