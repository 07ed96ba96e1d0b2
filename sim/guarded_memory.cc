#include "sim/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/check.h"

namespace verbena::sim {
namespace {

uint64_t RoundUp(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

std::byte* MapShared(uint64_t size, int descriptor) {
  void* const mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  CHECK(mapped != MAP_FAILED);
  return static_cast<std::byte*>(mapped);
}

std::span<std::byte> FillWithNoise(std::span<std::byte> bytes, Random& random) {
  constexpr size_t kPeriod = 57;
  const uint64_t noise = random.Next64();
  for (size_t i = 0; i < kPeriod; ++i) bytes[i] = static_cast<std::byte>(noise >> i);
  for (size_t filled = kPeriod; filled < bytes.size(); filled *= 2) {
    std::memcpy(&bytes[filled], bytes.data(), std::min(filled, bytes.size() - filled));
  }
  return bytes;
}

}  // namespace

GuardedPages::GuardedPages(uint64_t size, bool can_vanish) : size_(size), can_vanish_(can_vanish) {
  if (!can_vanish) {
    mapped_ = seen_ = static_cast<std::byte*>(std::aligned_alloc(kPage, size));
    CHECK(seen_ != nullptr);
    return;
  }
  const int descriptor = memfd_create("guarded", MFD_CLOEXEC);
  CHECK(descriptor >= 0 && ftruncate(descriptor, static_cast<off_t>(size)) == 0);
  mapped_ = MapShared(size, descriptor);
  seen_ = MapShared(size, descriptor);
  close(descriptor);
}

GuardedPages::~GuardedPages() {
  if (!can_vanish_) {
    std::free(seen_);
    return;
  }
  munmap(mapped_, size_);
  munmap(seen_, size_);
}

void GuardedPages::Vanish(uint64_t first, uint64_t size) {
  CHECK(can_vanish_ && first + size <= size_);
  // The address range stays reserved, so that nothing else is mapped there.
  CHECK(mprotect(mapped_ + first, size, PROT_NONE) == 0);
}

GuardedMemory::GuardedMemory(memory::MemoryCore& core, memory::PdId pd, const Options& options,
                             Random& random)
    : size_(RoundUp(options.bytes)),
      memory_(size_ + 2 * kPage, options.can_vanish),
      shadow_(FillWithNoise(memory_.seen(), random)),
      vanished_(pages()) {
  const memory::RegionSpec spec{
      .pd = pd, .start = KeyAddress(kBase), .length = size_, .rights = options.rights};
  const auto keys = core.regions.Register(spec, memory::LinearBacking{.base = AddressOf(0)});
  CHECK(keys.has_value());
  keys_ = *keys;
  CHECK(core.regions.MapPages(keys_.local, 0, pages(), {}, true).has_value());
}

void GuardedMemory::Evict(memory::MemoryCore& core, uint64_t page) {
  const uint64_t first = AddressOf(page * kPage).value();
  core.InvalidateMachine(memory::MachineAddress(first), memory::MachineAddress(first + kPage - 1));
}

void GuardedMemory::Vanish(uint64_t first_page, uint64_t count) {
  memory_.Vanish((first_page + 1) * kPage, count * kPage);
  std::fill_n(vanished_.begin() + static_cast<std::ptrdiff_t>(first_page), count, true);
}

bool GuardedMemory::HasVanished(uint64_t first_page, uint64_t count) const {
  const auto first = vanished_.begin() + static_cast<std::ptrdiff_t>(first_page);
  return std::find(first, first + static_cast<std::ptrdiff_t>(count), true) !=
         first + static_cast<std::ptrdiff_t>(count);
}

bool GuardedMemory::Deregister(memory::MemoryCore& core) {
  is_registered_ = !core.regions.Deregister(keys_.local).has_value();
  return !is_registered_;
}

}  // namespace verbena::sim
