#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/mutex.h"

namespace verbena::managed {

// What other threads want of the pager.
struct Request {
  enum class Kind : uint8_t {
    kPageIn,
    kDiscard,
    kSwapOut,
    kSetBudget,
    kHoldProgram,
    kLetProgramGo
  };

  Kind kind = Kind::kPageIn;
  bool for_write = false;   // kPageIn
  uint64_t first_byte = 0;  // kPageIn, kDiscard, kSwapOut
  uint64_t length = 0;      // the same; for kSetBudget the budget
  uint64_t ticket = 0;      // kPageIn, kSwapOut
};

// Requests on their way to the pager thread, first come first, and the word to end.
//
// Any thread puts in, and holds the lock for a moment. The pager takes all at once: it gives its
// empty list for the full one, so that after a while neither side allocates.
class Inbox {
 public:
  [[nodiscard]] static ErrorOr<FileDescriptor> MakeSignal();
  explicit Inbox(FileDescriptor signal) : signal_(std::move(signal)) {}

  void Put(const Request& request) VERBENA_EXCLUDES(mutex_);
  void PutStop() VERBENA_EXCLUDES(mutex_);

  // Replaces `requests`. False if it is time to end.
  [[nodiscard]] bool Take(std::vector<Request>& requests) VERBENA_EXCLUDES(mutex_);
  // Readable when there is something to take.
  [[nodiscard]] int fd() const { return signal_.get(); }

 private:
  void Signal() const;

  const FileDescriptor signal_;  // an eventfd
  Mutex mutex_;
  std::vector<Request> requests_ VERBENA_GUARDED_BY(mutex_);
  bool stops_ VERBENA_GUARDED_BY(mutex_) = false;
};

}  // namespace verbena::managed
