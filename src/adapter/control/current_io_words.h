#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "memory/spaces/current_io.h"
#include "memory/spaces/current_io_page.h"

namespace verbena::adapter {

// The current-I/O words of an adapter's regions, and the threads and callbacks of the program that
// wait until a region is in use again.
//
// Thread rule: any thread. Takes no other lock, and calls back without any.
class CurrentIoWords {
 public:
  // A word of zero. The first one makes the page.
  [[nodiscard]] ErrorOr<uint32_t> Take();
  // What waits for it is released.
  void Give(uint32_t index);

  // REQUIRES: the word is taken.
  [[nodiscard]] memory::CurrentIo::Word& word(uint32_t index) { return page_->word(index); }
  // For the process that shares the words; -1 while there is none.
  [[nodiscard]] int fd();

  // Registers interest and waits: true if the region may be used again, false after `patience`.
  // `on_interest` is called once, after interest is registered.
  [[nodiscard]] bool Wait(uint32_t index, Duration patience,
                          const std::function<void()>& on_interest);
  // Registers interest; `then` is called once, on the thread that resumes the region. False if it
  // is in use: then nothing is called.
  [[nodiscard]] bool CallWhenResumed(uint32_t index, std::function<void()> then,
                                     const std::function<void()>& on_interest);

  // Ends quiesce and interest, and wakes what waits. Not under a lock that a callback may need.
  void Resume(uint32_t index);

 private:
  std::vector<std::function<void()>> Waiting(uint32_t index);

  std::mutex mutex_;
  std::condition_variable resumed_;
  // The page and the counts are guarded by mutex_; words of the page are shared.
  std::optional<memory::CurrentIoPage> page_;
  uint32_t unused_ = 0;          // words from this one on were never taken
  std::vector<uint32_t> given_;  // words that were taken and given back
  std::unordered_multimap<uint32_t, std::function<void()>> callbacks_;
};

}  // namespace verbena::adapter
