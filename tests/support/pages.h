#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace verbena::memory {

// A few pages of a memory file; the test controls whether they are accessible. Owned by one test;
// Protect and Truncate may run while other threads try to access the pages.
class PagesForTest {
 public:
  static constexpr size_t kPage = 4096;

  explicit PagesForTest(size_t count) : size_(count * kPage), file_(memfd_create("pages", 0)) {
    CHECK(file_ >= 0);
    Truncate(count);
    base_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    CHECK(base_ != MAP_FAILED);
  }
  PagesForTest(const PagesForTest&) = delete;
  PagesForTest& operator=(const PagesForTest&) = delete;
  ~PagesForTest() {
    munmap(base_, size_);
    close(file_);
  }

  std::byte* data() const { return static_cast<std::byte*>(base_); }
  std::byte* page(size_t i) const { return data() + i * kPage; }
  size_t size() const { return size_; }

  // PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE.
  void Protect(size_t i, int protection) const { CHECK(mprotect(page(i), kPage, protection) == 0); }

  void Unmap(size_t i) const { CHECK(munmap(page(i), kPage) == 0); }

  // Truncates the file to `count` pages: an access to a page behind them raises SIGBUS.
  void Truncate(size_t count) const {
    CHECK(ftruncate(file_, static_cast<off_t>(count * kPage)) == 0);
  }

 private:
  const size_t size_;
  const int file_;
  void* base_ = nullptr;
};

}  // namespace verbena::memory
