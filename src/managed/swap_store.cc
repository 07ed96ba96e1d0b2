#include "managed/swap_store.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace verbena::managed {
namespace {

SwapResult ResultOf(int64_t result, int64_t expected) {
  if (result == expected) return SwapResult::kGood;
  return result == -ENOSPC || result == -EDQUOT ? SwapResult::kFull : SwapResult::kFailed;
}

}  // namespace

SwapStore::SwapStore(std::unique_ptr<SwapFile> file, const SwapOptions& options)
    : options_(options),
      unit_bytes_(options.granule.bytes() / ExtentMap::kExtentUnitsMax),
      entries_(options.granule_count),
      orders_(options.orders_max),
      outstanding_(kTransfersMax),
      waiting_(options.orders_max),
      outcomes_(options.orders_max),
      file_(std::move(file)) {
  CHECK(options.granule.bytes() < uint64_t{1} << 24);
  const uint64_t granule = options.granule.bytes();
  const uint64_t count =
      std::clamp<uint64_t>(options.staging_bytes / granule, 1, options.orders_max);
  staging_ = std::make_unique_for_overwrite<std::byte[]>(count * granule);
  for (uint64_t i = count; i-- > 0;) free_staging_.push_back(staging_.get() + i * granule);
  for (uint32_t i = options.orders_max; i-- > 0;) free_orders_.push_back(i);
  for (uint32_t i = kTransfersMax; i-- > 0;) free_flights_.push_back(i);
}

bool SwapStore::Store(uint64_t granule, std::span<const std::byte> contents) {
  CHECK(contents.size() == options_.granule.bytes());
  if (!HasRoomForOrder()) return false;
  Entry& entry = entries_[granule];
  CHECK(entry.is_under_way == 0);
  Drop(entry);
  const uint32_t order = NewOrder(granule, const_cast<std::byte*>(contents.data()), true);
  entry.is_under_way = 1;
  PackInto(entry, orders_[order]);
  if (entry.as == StoredAs::kZero) {
    End(order, SwapResult::kGood);
  } else if (Place(entry)) {
    CHECK(waiting_.TryPush(order));
  } else {
    entry.as = StoredAs::kNothing;
    End(order, SwapResult::kFull);
  }
  return true;
}

bool SwapStore::Load(uint64_t granule, std::span<std::byte> contents) {
  CHECK(contents.size() == options_.granule.bytes());
  CHECK(Holds(granule));
  if (!HasRoomForOrder()) return false;
  Entry& entry = entries_[granule];
  const auto as = entry.as;
  std::byte* const staging = as == StoredAs::kCompressed ? TakeStaging() : nullptr;
  if (as == StoredAs::kCompressed && staging == nullptr) return false;
  entry.is_under_way = 1;
  const uint32_t order = NewOrder(granule, contents.data(), false);
  orders_[order].staging = staging;
  if (as == StoredAs::kZero) {
    std::memset(contents.data(), 0, contents.size());
    End(order, SwapResult::kGood);
  } else {
    CHECK(waiting_.TryPush(order));
  }
  return true;
}

void SwapStore::Submit() {
  bool sent = false;
  while (!waiting_.empty() && !free_flights_.empty()) {
    const uint32_t outstanding = free_flights_.back();
    free_flights_.pop_back();
    Send(outstanding);
    sent = true;
  }
  if (sent) file_->Kick();
}

size_t SwapStore::Reap(std::span<SwapOutcome> outcomes) {
  Submit();
  std::array<TransferEnd, 16> ends;
  size_t landed = 0;
  do {
    landed = file_->Reap(ends);
    for (size_t i = 0; i < landed; ++i) Land(ends[i]);
    if (landed > 0) Submit();
  } while (landed > 0);
  size_t count = 0;
  while (count < outcomes.size() && !outcomes_.empty()) outcomes[count++] = *outcomes_.TryPop();
  return count;
}

void SwapStore::Forget(uint64_t granule) {
  Entry& entry = entries_[granule];
  if (entry.is_under_way == 1) {
    entry.is_forgotten = 1;
  } else {
    Drop(entry);
  }
}

bool SwapStore::Holds(uint64_t granule) const {
  const Entry& entry = entries_[granule];
  return entry.as != StoredAs::kNothing && entry.is_under_way == 0;
}

SwapCounters SwapStore::counters() const {
  SwapCounters counters = counters_;
  counters.bytes_held = extents_.used_units() * unit_bytes_;
  counters.bytes_reserved = extents_.unit_count() * unit_bytes_;
  return counters;
}

std::span<const std::byte> SwapStore::ContentsOf(const Order& order) const {
  return {order.contents, options_.granule.bytes()};
}

uint32_t SwapStore::UnitsOf(const Entry& entry) const {
  return static_cast<uint32_t>((entry.bytes + unit_bytes_ - 1) / unit_bytes_);
}

uint64_t SwapStore::OffsetOf(const Order& order) const {
  return entries_[order.granule].first_unit * unit_bytes_;
}

uint64_t SwapStore::FileBytesOf(const Order& order) const {
  return UnitsOf(entries_[order.granule]) * unit_bytes_;
}

// Outcomes that were not taken count as well, because every order needs room for its outcome.
bool SwapStore::HasRoomForOrder() const {
  const size_t in_use = orders_.size() - free_orders_.size();
  return in_use + outcomes_.size() < options_.orders_max;
}

uint32_t SwapStore::NewOrder(uint64_t granule, std::byte* contents, bool is_store) {
  const uint32_t order = free_orders_.back();
  free_orders_.pop_back();
  orders_[order] = {.granule = granule, .contents = contents, .is_store = is_store};
  return order;
}

std::byte* SwapStore::TakeStaging() {
  if (free_staging_.empty()) return nullptr;
  std::byte* const staging = free_staging_.back();
  free_staging_.pop_back();
  return staging;
}

void SwapStore::Release(Order& order) {
  if (order.staging != nullptr) free_staging_.push_back(order.staging);
  order.staging = nullptr;
}

// The file gets whole units, so that neighbours are adjacent; the bytes after the packed ones are
// 0.
void SwapStore::PackInto(Entry& entry, Order& order) {
  order.staging = options_.compress ? TakeStaging() : nullptr;
  const size_t room = order.staging != nullptr ? options_.granule.bytes() / 4 * 3 : 0;
  const Packer::Packed packed = packer_.Pack(ContentsOf(order), {order.staging, room});
  entry.as = packed.as;
  entry.bytes = packed.bytes & 0xFFFFFF;
  if (packed.as == StoredAs::kCompressed) {
    CHECK(order.staging != nullptr);
    const uint64_t size = FileBytesOf(order);
    std::memset(order.staging + packed.bytes, 0, size - packed.bytes);
    entry.checksum = Crc32c({order.staging, size});
    ++counters_.compressed;
    return;
  }
  Release(order);
  if (packed.as == StoredAs::kRaw) entry.checksum = Crc32c(ContentsOf(order));
  counters_.zero += packed.as == StoredAs::kZero;
}

bool SwapStore::Place(Entry& entry) {
  std::optional<uint32_t> first = extents_.Take(UnitsOf(entry));
  if (!first && GrowFile()) first = extents_.Take(UnitsOf(entry));
  if (!first) return false;
  entry.first_unit = *first;
  return true;
}

bool SwapStore::GrowFile() {
  const uint64_t slab_bytes = ExtentMap::kSlabUnits * unit_bytes_;
  const uint64_t size = extents_.unit_count() * unit_bytes_;
  const uint64_t left = (options_.bytes_max - std::min(size, options_.bytes_max)) / slab_bytes;
  // A disk that has no room for a step may have room for a slab.
  for (const uint64_t wanted :
       {std::max<uint64_t>(options_.step_bytes / slab_bytes, 1), uint64_t{1}}) {
    const uint64_t slabs = std::min(wanted, left);
    if (slabs == 0) return false;
    if (file_->Reserve(size, size + slabs * slab_bytes) != 0) continue;
    extents_.Grow(static_cast<uint32_t>(slabs));
    return true;
  }
  return false;
}

void SwapStore::Drop(Entry& entry) {
  const auto as = entry.as;
  if (as == StoredAs::kRaw || as == StoredAs::kCompressed) {
    extents_.Give(entry.first_unit, UnitsOf(entry));
  }
  entry = {};
}

bool SwapStore::Touches(const Order& last, const Order& next) const {
  return last.is_store == next.is_store && !last.goes_alone && !next.goes_alone &&
         OffsetOf(last) + FileBytesOf(last) == OffsetOf(next);
}

// Buffers that are adjacent, too, are one part. False if the transfer is long enough without it.
bool SwapStore::Append(OutstandingRequest& outstanding, const Order& order) const {
  std::byte* const buffer = order.staging != nullptr ? order.staging : order.contents;
  const uint64_t size = FileBytesOf(order);
  const size_t count = outstanding.part_count;
  if (count > 0 && static_cast<uint64_t>(outstanding.bytes) + size > kTransferBytesMax)
    return false;
  iovec* const last = count > 0 ? &outstanding.parts[count - 1] : nullptr;
  if (last != nullptr && static_cast<std::byte*>(last->iov_base) + last->iov_len == buffer) {
    last->iov_len += size;
  } else if (count < outstanding.parts.size()) {
    outstanding.parts[outstanding.part_count++] = {buffer, size};
  } else {
    return false;
  }
  outstanding.bytes += static_cast<int64_t>(size);
  return true;
}

// The first order that waits, and those behind it that continue it in the file.
void SwapStore::Send(uint32_t outstanding_index) {
  OutstandingRequest& outstanding = outstanding_[outstanding_index];
  const uint32_t first = *waiting_.TryPop();
  outstanding.first_order = first;
  outstanding.bytes = 0;
  outstanding.part_count = 0;
  CHECK(Append(outstanding, orders_[first]));
  uint32_t last = first;
  while (!waiting_.empty() && Touches(orders_[last], orders_[waiting_.front()]) &&
         Append(outstanding, orders_[waiting_.front()])) {
    last = orders_[last].next = *waiting_.TryPop();
  }
  orders_[last].next = kNone;
  ++counters_.transfers;
  // There are never more outstanding requests than the file accepts.
  CHECK(file_->Start({.is_write = orders_[first].is_store,
                      .offset = OffsetOf(orders_[first]),
                      .parts = std::span(outstanding.parts).first(outstanding.part_count),
                      .token = outstanding_index}));
}

void SwapStore::Land(const TransferEnd& end) {
  OutstandingRequest& outstanding = outstanding_[end.token];
  const uint32_t first = outstanding.first_order;
  const SwapResult result = ResultOf(end.result, outstanding.bytes);
  (orders_[first].is_store ? counters_.bytes_written : counters_.bytes_read) +=
      static_cast<uint64_t>(std::max<int64_t>(end.result, 0));
  free_flights_.push_back(static_cast<uint32_t>(end.token));
  if (result != SwapResult::kGood && TryAlone(first)) return;
  for (uint32_t i = first; i != kNone;) {
    const uint32_t next = orders_[i].next;
    End(i, result == SwapResult::kGood ? Open(orders_[i]) : result);
    i = next;
  }
}

// Queues the orders of a failed transfer again, one transfer each. False if there was only one
// order.
bool SwapStore::TryAlone(uint32_t first) {
  if (orders_[first].next == kNone) return false;
  for (uint32_t i = first; i != kNone;) {
    const uint32_t next = std::exchange(orders_[i].next, kNone);
    orders_[i].goes_alone = true;
    CHECK(waiting_.TryPush(i));
    i = next;
  }
  return true;
}

// Checks and unpacks what a load has read. For a store there is nothing to do.
SwapResult SwapStore::Open(Order& order) {
  if (order.is_store) return SwapResult::kGood;
  const Entry& entry = entries_[order.granule];
  const std::span contents(order.contents, options_.granule.bytes());
  if (order.staging == nullptr) {
    return Crc32c(contents) == entry.checksum ? SwapResult::kGood : SwapResult::kCorrupt;
  }
  const std::span<const std::byte> stored(order.staging, FileBytesOf(order));
  const bool is_right =
      Crc32c(stored) == entry.checksum && Unpack(stored.first(entry.bytes), contents);
  return is_right ? SwapResult::kGood : SwapResult::kCorrupt;
}

void SwapStore::End(uint32_t index, SwapResult result) {
  Order& order = orders_[index];
  Entry& entry = entries_[order.granule];
  entry.is_under_way = 0;
  if (entry.is_forgotten == 1 || (order.is_store && result != SwapResult::kGood)) Drop(entry);
  if (result == SwapResult::kGood) ++(order.is_store ? counters_.stored : counters_.loaded);
  counters_.full += result == SwapResult::kFull;
  counters_.failed += result == SwapResult::kFailed;
  counters_.corrupt += result == SwapResult::kCorrupt;
  CHECK(outcomes_.TryPush({order.granule, order.is_store, result}));
  Release(order);
  free_orders_.push_back(index);
}

}  // namespace verbena::managed
