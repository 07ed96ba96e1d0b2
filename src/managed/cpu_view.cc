#include "managed/cpu_view.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/file_descriptor.h"
#include "managed/signal_view.h"
#include "managed/userfault_view.h"

namespace verbena::managed {

ErrorOr<std::unique_ptr<CpuView>> MakeCpuView(CpuViewKind kind, std::span<std::byte> bytes,
                                              PageShift granule) {
  if (kind != CpuViewKind::kSignal) {
    auto view = UserfaultView::Make(bytes, granule);
    if (view || kind == CpuViewKind::kUserfault) return view;
  }
  return SignalView::Make(bytes, granule);
}

PageShift GranuleFor(uint64_t size, uint64_t budget, PageShift wished, uint64_t mappings_max) {
  unsigned shift = wished.value();
  // The worst case, an absent granule between any two resident ones: two mappings for each resident
  // granule, and one at the end.
  const auto mappings = [&] { return std::min(size >> shift, 2 * (budget >> shift)) + 1; };
  constexpr unsigned kLargest = 21;
  while (shift < kLargest && mappings() > mappings_max / 2) ++shift;
  return PageShift(shift);
}

uint64_t MappingsMax() {
  uint64_t value = 65530;
  const FileDescriptor file(open("/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC));
  std::array<char, 32> text{};
  const ssize_t length = file.is_open() ? read(file.get(), text.data(), text.size()) : 0;
  if (length > 0) std::from_chars(text.data(), text.data() + length, value);
  return value;
}

}  // namespace verbena::managed
