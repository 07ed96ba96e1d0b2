#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/lazy_array.h"
#include "base/page.h"
#include "base/ring.h"
#include "managed/extent_map.h"
#include "managed/packer.h"
#include "managed/swap_file.h"

namespace verbena::managed {

// How an order to the store ended.
enum class SwapResult : uint8_t {
  kGood,
  kFull,     // a store: the file is at its limit, or the disk is full
  kFailed,   // the system could not read or write; the stored copy, if there was one, may be fine
  kCorrupt,  // a load: the bytes from the file are not those that were stored
};

struct SwapOutcome {
  uint64_t granule = 0;
  bool is_store = false;
  SwapResult result = SwapResult::kGood;
};

// What the store has done since it was made, and what it holds.
struct SwapCounters {
  uint64_t stored = 0;      // granules; one counts each time
  uint64_t compressed = 0;  // of these
  uint64_t zero = 0;        // of these
  uint64_t loaded = 0;
  uint64_t bytes_written = 0;
  uint64_t bytes_read = 0;
  uint64_t transfers = 0;  // fewer than granules: adjacent ones share a transfer
  uint64_t full = 0;
  uint64_t failed = 0;
  uint64_t corrupt = 0;
  uint64_t bytes_held = 0;      // in use in the file
  uint64_t bytes_reserved = 0;  // the file's size
};

struct SwapOptions {
  PageShift granule{12};
  uint64_t granule_count = 0;
  // Limit of the file's size. By default the disk is the limit.
  uint64_t bytes_max = ~uint64_t{0};
  // The file grows by this much at a time, or by a slab if that is more: large enough that growing
  // is rare, and small enough not to reserve much disk space that is not needed.
  uint64_t step_bytes = uint64_t{16} << 20;
  // Orders in flight at most. The pager keeps further ones until there is room.
  uint32_t orders_max = 1024;
  // Buffers for compressed contents in flight. When none is left, contents are stored uncompressed.
  uint64_t staging_bytes = uint64_t{8} << 20;
  bool compress = true;
};

// Holds the contents of granules that are not in memory, in a file that no other process opens.
// Granules that are all zero are recorded and not written; others are compressed when that saves a
// quarter (Packer). The checksum of what lies in the file stays in memory: a load returns what was
// stored, or reports it as corrupt. Nothing survives the process, so the file needs no stable
// format.
//
// Store and Load give orders. Submit sends them, those of adjacent extents in one transfer. Reap
// returns their outcomes, in any sequence. If a transfer of several orders fails, each of them is
// tried again alone, so that a bad sector costs one granule.
//
// Invariant: an extent belongs to one granule, and is not freed while a transfer can touch it.
// Owned by the pager. One thread at a time. Allocates only when the file grows.
class SwapStore {
 public:
  static constexpr uint32_t kTransfersMax = 64;

  // REQUIRES: `file` accepts kTransfersMax transfers at a time.
  SwapStore(std::unique_ptr<SwapFile> file, const SwapOptions& options);
  SwapStore(const SwapStore&) = delete;
  SwapStore& operator=(const SwapStore&) = delete;

  // `contents`, of a granule's size, must stay in place until the outcome. If the bytes change
  // before, this copy is of no use, and the caller must call Forget. Store drops an earlier copy.
  // False if too many orders are in flight. REQUIRES: no order is in flight for this granule.
  [[nodiscard]] bool Store(uint64_t granule, std::span<const std::byte> contents);
  // Likewise; also false if no staging buffer is free. REQUIRES: Holds(granule).
  [[nodiscard]] bool Load(uint64_t granule, std::span<std::byte> contents);
  void Submit();
  // Submits first, so that transfers which the system completes at once are included. Writes
  // outcomes to the front of `outcomes` and returns how many; never blocks.
  [[nodiscard]] size_t Reap(std::span<SwapOutcome> outcomes);

  // Drops the copy. If an order is in flight for the granule: when that order ends.
  void Forget(uint64_t granule);
  // Whether there is a copy of the granule and no order in flight for it.
  [[nodiscard]] bool Holds(uint64_t granule) const;

  // Whether outcomes wait for Reap, apart from those of transfers that have ended meanwhile.
  [[nodiscard]] bool has_outcomes() const { return !outcomes_.empty(); }
  // Readable when transfers have ended. Does not show outcomes that needed no transfer.
  [[nodiscard]] int fd() const { return file_->fd(); }
  [[nodiscard]] SwapCounters counters() const;
  [[nodiscard]] const char* method() const { return file_->method(); }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  // Of a transfer of more than one order.
  static constexpr uint64_t kTransferBytesMax = uint64_t{512} << 10;

  // The copy of a granule. All bits 0: there is none.
  struct Entry {
    uint32_t first_unit;
    uint32_t checksum;
    uint32_t bytes : 24;
    StoredAs as : 4;
    uint32_t is_under_way : 1;
    uint32_t is_forgotten : 1;  // dropped when its order ends
  };

  struct Order {
    uint64_t granule = 0;
    std::byte* contents = nullptr;  // only read from, if it is a store
    std::byte* staging = nullptr;   // the packed bytes; nullptr if not compressed
    uint32_t next = kNone;          // in the same transfer
    bool is_store = false;
    bool goes_alone = false;
  };

  struct OutstandingRequest {
    std::array<iovec, Transfer::kPartsMax> parts;
    size_t part_count = 0;
    uint32_t first_order = kNone;
    int64_t bytes = 0;
  };

  [[nodiscard]] std::span<const std::byte> ContentsOf(const Order& order) const;
  [[nodiscard]] uint32_t UnitsOf(const Entry& entry) const;
  [[nodiscard]] uint64_t OffsetOf(const Order& order) const;
  [[nodiscard]] uint64_t FileBytesOf(const Order& order) const;

  [[nodiscard]] bool HasRoomForOrder() const;
  uint32_t NewOrder(uint64_t granule, std::byte* contents, bool is_store);
  [[nodiscard]] std::byte* TakeStaging();
  void Release(Order& order);

  void PackInto(Entry& entry, Order& order);
  [[nodiscard]] bool Place(Entry& entry);
  [[nodiscard]] bool GrowFile();
  void Drop(Entry& entry);

  [[nodiscard]] bool Touches(const Order& last, const Order& next) const;
  [[nodiscard]] bool Append(OutstandingRequest& outstanding, const Order& order) const;
  void Send(uint32_t outstanding);
  void Land(const TransferEnd& end);
  void End(uint32_t order, SwapResult result);
  [[nodiscard]] SwapResult Open(Order& order);
  [[nodiscard]] bool TryAlone(uint32_t first_order);

  const SwapOptions options_;
  const uint64_t unit_bytes_;
  LazyArray<Entry> entries_;
  ExtentMap extents_;
  Packer packer_;
  SwapCounters counters_;

  std::unique_ptr<std::byte[]> staging_;
  std::vector<std::byte*> free_staging_;
  std::vector<Order> orders_;
  std::vector<uint32_t> free_orders_;
  std::vector<OutstandingRequest> outstanding_;
  std::vector<uint32_t> free_flights_;
  Ring<uint32_t> waiting_;      // orders that are in no transfer yet
  Ring<SwapOutcome> outcomes_;  // not reaped yet
  // The last member, so that it is destroyed first: its destructor waits for transfers, which use
  // the buffers above.
  const std::unique_ptr<SwapFile> file_;
};

}  // namespace verbena::managed
