#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "verbena/current_io_word.h"
#include "verbena/error.h"

namespace verbena {

namespace verbs {
struct RegionObject;
}

// The program's side of a region's current-I/O word, for a region whose memory the host may want
// back (docs/quiesce.md). Only the program knows that a command it has sent will be followed by an
// RDMA of the peer and a reply: so it counts operations of either direction, each before it starts
// and after it has completed.
//
//   if (!io.Begin(3)) {            // the host wants the memory: start nothing
//     Queue(request);
//     io.CallWhenBack(RunQueue);   // or io.Wait(...)
//   } else {
//     Post(request);               // io.End() for each completion
//   }
//
// Begin and End are one atomic change of one word, without a system call, unless the host waits. A
// view of a MemoryRegion, which must outlive it. Thread rule: any thread, at any time.
class RegionIo {
 public:
  RegionIo() = default;
  // `mark` is 0 in a child of the process that opened the device, which shares the word's memory.
  RegionIo(verbs::RegionObject* region, CurrentIoWord::Word* word, const volatile unsigned* mark)
      : region_(region), word_(word), mark_(mark) {}

  [[nodiscard]] explicit operator bool() const { return region_ != nullptr; }

  // Before `operations` start: all of them or none. False if the host wants the memory, or if 2^32
  // operations would be outstanding.
  [[nodiscard]] bool Begin(uint32_t operations = 1) const {
    return counts() &&
           CurrentIoWord::Begin(*word_, operations) == CurrentIoWord::BeginResult::kStarted;
  }
  // After operations have completed. If they were the last, and the host waits, it is told. Fails
  // with kInvalid if not so many have begun.
  ErrorOr<void> End(uint32_t operations = 1) const {
    if (!counts()) return Refuse(false);
    const CurrentIoWord::EndResult ended = CurrentIoWord::End(*word_, operations);
    if (ended == CurrentIoWord::EndResult::kMore) return {};
    return ended == CurrentIoWord::EndResult::kNotBegun ? Refuse(true) : TellHost();
  }

  // Whether nothing may be started now.
  [[nodiscard]] bool is_quiesced() const {
    return counts() && (word_->load(std::memory_order_acquire) & CurrentIoWord::kQuiesceBit) != 0;
  }
  // Asks for the memory, and waits until operations may be started: true if they may, false after
  // `patience`.
  [[nodiscard]] bool Wait(std::chrono::nanoseconds patience) const;
  // Asks for the memory; `then` is called once, on another thread, when operations may be started.
  // It must not register, change or destroy a region. False if they may be started now: then it is
  // not called.
  [[nodiscard]] bool CallWhenBack(std::function<void()> then) const;

 private:
  [[nodiscard]] bool counts() const { return word_ != nullptr && *mark_ != 0; }
  // Why nothing has ended.
  [[nodiscard]] static ErrorOr<void> Refuse(bool has_count);
  // The "memory region quiesced" call.
  [[nodiscard]] ErrorOr<void> TellHost() const;

  verbs::RegionObject* region_ = nullptr;
  CurrentIoWord::Word* word_ = nullptr;
  const volatile unsigned* mark_ = nullptr;
};

}  // namespace verbena
