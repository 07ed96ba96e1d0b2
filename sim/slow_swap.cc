#include "sim/slow_swap.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace verbena::sim {
namespace {

std::span<std::byte> BytesOf(const iovec& part) {
  return {static_cast<std::byte*>(part.iov_base), part.iov_len};
}

}  // namespace

bool SlowSwap::Start(const managed::Transfer& transfer) {
  const auto most = static_cast<uint64_t>(trouble_.latency_max.nanoseconds());
  const auto latency = Nanoseconds(static_cast<int64_t>(1 + random_.Below(most)));
  outstanding_.push_back({.transfer = transfer, .begun = {}, .ends_at = clock_.now + latency});
  std::vector<std::byte>& begun = outstanding_.back().begun;
  if (!transfer.is_write) return true;
  for (const iovec& part : transfer.parts) {
    const auto bytes = BytesOf(part);
    begun.insert(begun.end(), bytes.begin(), bytes.end());
  }
  return true;
}

size_t SlowSwap::Reap(std::span<managed::TransferEnd> ends) {
  size_t count = 0;
  for (auto at = outstanding_.begin(); at != outstanding_.end() && count < ends.size();) {
    if (clock_.now < at->ends_at) {
      ++at;
      continue;
    }
    ends[count++] = {.token = at->transfer.token, .result = End(*at)};
    at = outstanding_.erase(at);
  }
  return count;
}

int64_t SlowSwap::End(const Outstanding& ended) {
  const bool is_write = ended.transfer.is_write;
  const uint32_t failures = is_write ? trouble_.write_failures : trouble_.read_failures;
  if (random_.Chance(failures, 1000) || (is_write && clock_.now < trouble_.fails_until)) {
    return -EIO;
  }
  uint64_t moved = 0;
  for (const iovec& part : ended.transfer.parts) {
    const std::span<std::byte> bytes = BytesOf(part);
    if (is_write) {
      const size_t half = bytes.size() / 2;
      const std::span<const std::byte> begun(ended.begun);
      Put(ended.transfer.offset + moved, begun.subspan(moved, half));
      Put(ended.transfer.offset + moved + half, bytes.subspan(half));
    } else {
      Get(ended.transfer.offset + moved, bytes);
    }
    moved += bytes.size();
  }
  if (!is_write && random_.Chance(trouble_.corruption, 1000)) Corrupt(ended.transfer);
  return static_cast<int64_t>(moved);
}

void SlowSwap::Corrupt(const managed::Transfer& transfer) {
  const std::span<std::byte> bytes = BytesOf(transfer.parts[random_.Below(transfer.parts.size())]);
  bytes[random_.Below(bytes.size())] ^= std::byte{1};
}

int SlowSwap::Reserve(uint64_t /*from*/, uint64_t /*to*/) {
  return clock_.now < trouble_.fails_until ? ENOSPC : 0;
}

void SlowSwap::Put(uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const uint64_t at = offset % kBlock;
    const size_t count = std::min<uint64_t>(bytes.size(), kBlock - at);
    std::memcpy(&blocks_[offset / kBlock][at], bytes.data(), count);
    bytes = bytes.subspan(count);
    offset += count;
  }
}

void SlowSwap::Get(uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const uint64_t at = offset % kBlock;
    const size_t count = std::min<uint64_t>(bytes.size(), kBlock - at);
    const auto block = blocks_.find(offset / kBlock);
    if (block == blocks_.end()) {
      std::memset(bytes.data(), 0, count);
    } else {
      std::memcpy(bytes.data(), &block->second[at], count);
    }
    bytes = bytes.subspan(count);
    offset += count;
  }
}

}  // namespace verbena::sim
