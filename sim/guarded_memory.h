#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "memory/memory_core.h"
#include "queue/wqe.h"
#include "sim/oracle/shadow.h"

namespace verbena::sim {

inline constexpr uint64_t kPage = 4096;

// Memory that can be unmapped while the oracle still sees it: two mappings of the same pages, or
// one mapping if nothing will be unmapped.
class GuardedPages {
 public:
  GuardedPages(uint64_t size, bool can_vanish);
  ~GuardedPages();
  GuardedPages(const GuardedPages&) = delete;
  GuardedPages& operator=(const GuardedPages&) = delete;

  [[nodiscard]] std::byte* mapped() const { return mapped_; }  // the mapping of the adapter
  [[nodiscard]] std::span<std::byte> seen() const { return {seen_, size_}; }

  // The program unmaps it without notice to the tables. REQUIRES: it can vanish.
  void Vanish(uint64_t first, uint64_t size);

 private:
  uint64_t size_;
  bool can_vanish_;
  std::byte* mapped_ = nullptr;
  std::byte* seen_ = nullptr;
};

// Pages of a program, one region over them, and their expected contents. Peers and lists address
// bytes by an offset from kBase, so that no pointer reaches a packet. The region is smaller than
// the memory by a page at each end, which nothing may touch.
class GuardedMemory {
 public:
  static constexpr uint64_t kBase = 0x100000;

  struct Options {
    uint64_t bytes = 0;
    Access rights = {};
    bool can_vanish = false;
  };

  GuardedMemory(memory::MemoryCore& core, memory::PdId pd, const Options& options, Random& random);
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  [[nodiscard]] const memory::RegionKeys& keys() const { return keys_; }
  [[nodiscard]] uint64_t size() const { return size_; }
  [[nodiscard]] uint64_t pages() const { return size_ / kPage; }
  // The address for the oracle, and the address for the adapter.
  [[nodiscard]] std::byte* At(uint64_t offset) { return memory_.seen().data() + kPage + offset; }
  [[nodiscard]] memory::PhysicalAddress AddressOf(uint64_t offset) const {
    return memory::PhysicalAddress(reinterpret_cast<uintptr_t>(memory_.mapped() + kPage + offset));
  }
  [[nodiscard]] Sge Bytes(uint64_t offset, uint64_t length) const {
    return {kBase + offset, static_cast<uint32_t>(length), keys_.local};
  }
  [[nodiscard]] RemoteAddress Remote(uint64_t offset) const {
    return {kBase + offset, keys_.remote};
  }

  // Evicts a page.
  void Evict(memory::MemoryCore& core, uint64_t page);
  // The program unmaps pages, without notice to the tables.
  void Vanish(uint64_t first_page, uint64_t count);
  [[nodiscard]] bool HasVanished(uint64_t first_page, uint64_t count) const;
  // False if it is refused, because windows are bound to the region.
  bool Deregister(memory::MemoryCore& core);
  [[nodiscard]] bool is_registered() const { return is_registered_; }

  // Offsets are as for At.
  void Store(uint64_t offset, std::span<const std::byte> bytes) {
    shadow_.Store(offset + kPage, bytes);
  }
  void Allow(uint64_t id, uint64_t offset, std::vector<std::byte> bytes, bool any = false) {
    shadow_.Allow(id, offset + kPage, std::move(bytes), any);
  }
  Shadow& shadow() { return shadow_; }

 private:
  uint64_t size_;
  GuardedPages memory_;
  memory::RegionKeys keys_;
  Shadow shadow_;
  std::vector<bool> vanished_;  // by page
  bool is_registered_ = true;
};

}  // namespace verbena::sim
