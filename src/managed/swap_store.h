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
  kFull,     // a store: the file may not, or cannot, get larger
  kFailed,   // the system could not read or write; the stored copy, if there was one, may be fine
  kCorrupt,  // a load: what came from the file is not what went there
};

struct SwapOutcome {
  uint64_t granule = 0;
  bool is_store = false;
  SwapResult result = SwapResult::kGood;
};

// What the store has done since it was made, and what it holds.
struct SwapCounters {
  uint64_t stored = 0;      // granules, each time
  uint64_t compressed = 0;  // of these
  uint64_t zero = 0;        // of these
  uint64_t loaded = 0;
  uint64_t bytes_written = 0;
  uint64_t bytes_read = 0;
  uint64_t transfers = 0;  // fewer than granules where neighbours went together
  uint64_t full = 0;
  uint64_t failed = 0;
  uint64_t corrupt = 0;
  uint64_t bytes_held = 0;      // in use in the file
  uint64_t bytes_reserved = 0;  // the file's size
};

struct SwapOptions {
  PageShift granule{12};
  uint64_t granule_count = 0;
  // Of the file. The default: as large as the disk lets it be.
  uint64_t bytes_max = ~uint64_t{0};
  // The file grows by this much at a time, or by a slab where that is more: seldom enough not to
  // matter, and little enough not to take a disk that is not needed.
  uint64_t step_bytes = uint64_t{16} << 20;
  // Orders under way. What is beyond waits at the pager, which has better grounds for an order.
  uint32_t orders_max = 256;
  // Compressed contents on their way. With none left, contents are stored as they are.
  uint64_t staging_bytes = uint64_t{8} << 20;
  bool compress = true;
};

// Holds the contents of granules that are not in memory, in a file that no other process opens.
// Contents that are all zero are remembered and not written; others are compressed when that saves
// a quarter (Packer). A checksum of what lies in the file is kept in memory: what comes back is
// what was stored, or is called corrupt. Nothing survives the process, so there is no format to
// keep.
//
// Orders are given by Store and Load, go out with Submit, those of extents that touch in one
// transfer, and end in Reap, in any order. A transfer of several that fails is tried again one by
// one, so that a bad sector costs one granule.
//
// Invariant: an extent belongs to one granule, and is not given away while a transfer may touch it.
// Owned by the pager. One thread at a time. Allocates only when the file grows.
class SwapStore {
 public:
  static constexpr uint32_t kTransfersMax = 64;

  // `file` takes kTransfersMax at a time.
  SwapStore(std::unique_ptr<SwapFile> file, const SwapOptions& options);
  SwapStore(const SwapStore&) = delete;
  SwapStore& operator=(const SwapStore&) = delete;

  // Contents, of a granule's size, must stay where they are until the outcome. If they change
  // before, this copy is of no use, and the caller must forget it. A copy from before is forgotten.
  // False if too many orders are under way. Neither may be under way for this granule.
  [[nodiscard]] bool Store(uint64_t granule, std::span<const std::byte> contents);
  // Likewise. The granule must be held.
  [[nodiscard]] bool Load(uint64_t granule, std::span<std::byte> contents);
  void Submit();
  // Submits, too: what the system can do at once has then ended. Returns how many outcomes it put
  // in front of `outcomes`; never waits.
  [[nodiscard]] size_t Reap(std::span<SwapOutcome> outcomes);

  // The copy is not needed any more. While an order is under way: when it ends.
  void Forget(uint64_t granule);
  // Whether there is a copy, and no order under way for it.
  [[nodiscard]] bool Holds(uint64_t granule) const;

  // Whether Reap has something to return, transfers that have ended meanwhile aside.
  [[nodiscard]] bool has_outcomes() const { return !outcomes_.empty(); }
  // Readable when transfers have ended. Outcomes that needed none do not show.
  [[nodiscard]] int fd() const { return file_->fd(); }
  [[nodiscard]] SwapCounters counters() const;
  [[nodiscard]] const char* method() const { return file_->method(); }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  // A granule's copy. Zero is: none.
  struct Entry {
    uint32_t first_unit;
    uint32_t checksum;
    uint32_t bytes : 24;
    StoredAs as : 4;
    uint32_t is_under_way : 1;
    uint32_t is_forgotten : 1;  // while under way
  };

  struct Order {
    uint64_t granule = 0;
    std::byte* contents = nullptr;  // only read from, if it is a store
    std::byte* staging = nullptr;   // where the packed bytes are, if they are not the contents
    uint32_t next = kNone;          // in the same transfer
    bool is_store = false;
    bool goes_alone = false;
  };

  struct OutstandingRequest {
    std::array<iovec, Transfer::kPartsMax> parts;
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

  [[nodiscard]] bool Touches(const Order& last, const Order& next, size_t parts) const;
  void Send(uint32_t outstanding, uint32_t order);
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
  Ring<uint32_t> waiting_;      // orders that no transfer carries yet
  Ring<SwapOutcome> outcomes_;  // not reaped yet
  // The last, so that it goes first: it waits for its transfers, which use the buffers above.
  const std::unique_ptr<SwapFile> file_;
};

}  // namespace verbena::managed
