#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/time.h"
#include "transport/iwarp/send_buffer.h"
#include "wire/iwarp/types.h"

namespace verbena::sim {

// One direction of a connection: what a queue pair has framed arrives at the other one. One thread.
class Stream {
 public:
  using Bytes = std::vector<std::byte>;
  // Gives bytes to the receiver: returns how many it has taken.
  using Receive = std::function<size_t(wire::StreamOffset at, std::span<std::byte> bytes)>;

  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  // Takes as many bytes as the window allows.
  virtual void Pull(transport::SendBuffer& from, Time now) = 0;
  // Delivers what is due.
  virtual void Run(Time now) = 0;
  // Gives the receiver again what it has not taken.
  virtual void Retry() = 0;
  // From now on nothing is reordered, doubled or changed.
  virtual void Heal() = 0;
  // No byte arrives any more.
  virtual void Cut() = 0;

  [[nodiscard]] virtual Time next_time() const = 0;
  [[nodiscard]] virtual bool is_idle() const = 0;
  [[nodiscard]] virtual bool was_corrupted() const = 0;
  [[nodiscard]] uint64_t digest() const { return digest_; }
  [[nodiscard]] uint64_t segments() const { return segment_count_; }

 protected:
  // Bytes are under way.
  void Count(std::span<const std::byte> bytes) {
    ++segment_count_;
    for (const std::byte byte : bytes) {
      digest_ = (digest_ ^ std::to_integer<uint64_t>(byte)) * 0x100000001B3;
    }
  }

 private:
  uint64_t digest_ = 0;
  uint64_t segment_count_ = 0;
};

}  // namespace verbena::sim
