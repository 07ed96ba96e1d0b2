#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "base/random.h"

namespace verbena::memory::model {

// The source of a run's decisions: a seed, or the bytes of a fuzzer's input. Equal choices give
// equal runs.
class Choices {
 public:
  Choices() = default;
  Choices(const Choices&) = delete;
  Choices& operator=(const Choices&) = delete;
  virtual ~Choices() = default;

  // A number in [0, n). REQUIRES: n > 0.
  virtual uint64_t Below(uint64_t n) = 0;
  // True when no input is left; Below then returns 0.
  virtual bool exhausted() const = 0;

  bool Chance(uint64_t numerator, uint64_t denominator) { return Below(denominator) < numerator; }
  uint64_t Between(uint64_t low, uint64_t high) { return low + Below(high - low + 1); }
  template <class T>
  T OneOf(std::initializer_list<T> items) {
    return items.begin()[Below(items.size())];
  }
};

class RandomChoices : public Choices {
 public:
  explicit RandomChoices(uint64_t seed) : random_(seed) {}
  uint64_t Below(uint64_t n) override { return random_.Below(n); }
  bool exhausted() const override { return false; }

 private:
  Random random_;
};

// Uses as few bytes per choice as possible, so that a small change of the input changes the run
// only a little.
class ByteChoices : public Choices {
 public:
  explicit ByteChoices(std::span<const uint8_t> bytes) : left_(bytes) {}

  uint64_t Below(uint64_t n) override {
    CHECK(n > 0);
    uint64_t value = 0;
    for (uint64_t reach = n - 1; reach > 0 && !left_.empty(); reach >>= 8) {
      value = value << 8 | left_.front();
      left_ = left_.subspan(1);
    }
    return value % n;
  }
  bool exhausted() const override { return left_.empty(); }

 private:
  std::span<const uint8_t> left_;
};

}  // namespace verbena::memory::model
