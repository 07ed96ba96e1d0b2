#include "adapter/control/fork_guard.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <utility>

namespace verbena::adapter {
namespace {

size_t PageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

ErrorOr<ForkGuard> ForkGuard::Make() {
  void* const page =
      mmap(nullptr, PageBytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return Fail(SystemError("mmap"));
  auto* const word = static_cast<unsigned*>(page);
  ForkGuard guard(word);
  if (madvise(page, PageBytes(), MADV_WIPEONFORK) != 0) {
    return Fail(SystemError("madvise(MADV_WIPEONFORK), which Linux has since 4.14"));
  }
  *word = 1;
  return guard;
}

ForkGuard::ForkGuard(ForkGuard&& other) noexcept : word_(std::exchange(other.word_, nullptr)) {}

ForkGuard::~ForkGuard() {
  if (word_ != nullptr) munmap(const_cast<unsigned*>(word_), PageBytes());
}

}  // namespace verbena::adapter
