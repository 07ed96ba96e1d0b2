#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <type_traits>

#include "base/check.h"

namespace verbena::managed {

// A fixed number of objects whose bytes begin as zero, and that cost memory only from the page on
// that is touched: for tables with an entry per granule, of which most are never used.
//
// Owned by one object, which says who may touch what.
template <class T>
class LazyArray {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  explicit LazyArray(size_t size)
      : size_(size), items_(static_cast<T*>(std::calloc(size, sizeof(T)))) {
    CHECK(items_ != nullptr);
  }

  [[nodiscard]] T& operator[](size_t i) {
    CHECK(i < size_);
    return items_.get()[i];
  }
  [[nodiscard]] const T& operator[](size_t i) const {
    CHECK(i < size_);
    return items_.get()[i];
  }
  [[nodiscard]] size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(T* items) const { std::free(items); }
  };

  const size_t size_;
  const std::unique_ptr<T, Free> items_;
};

}  // namespace verbena::managed
