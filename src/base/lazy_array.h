#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <type_traits>

#include "base/check.h"

namespace verbena {

// A fixed number of objects whose bytes begin as zero. A page costs memory only once it is touched,
// so long tables can stay mostly unused. The mapping is MAP_NORESERVE: the system sets no memory
// aside for untouched pages. Throws std::bad_alloc if the address space has no room for the array.
//
// The owner decides which threads touch which elements.
template <class T>
class LazyArray {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  explicit LazyArray(size_t size) : size_(size) {
    CHECK(size > 0);
    void* const place = mmap(nullptr, size * sizeof(T), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED) throw std::bad_alloc();
    items_ = static_cast<T*>(place);
  }
  LazyArray(const LazyArray&) = delete;
  LazyArray& operator=(const LazyArray&) = delete;
  ~LazyArray() { munmap(items_, size_ * sizeof(T)); }

  [[nodiscard]] T& operator[](size_t i) {
    CHECK(i < size_);
    return items_[i];
  }
  [[nodiscard]] const T& operator[](size_t i) const {
    CHECK(i < size_);
    return items_[i];
  }
  [[nodiscard]] size_t size() const { return size_; }

 private:
  const size_t size_;
  T* items_ = nullptr;
};

}  // namespace verbena
