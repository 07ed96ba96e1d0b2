#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/mutex.h"

namespace verbena::managed {

// A request of another thread to the pager.
struct Request {
  enum class Kind : uint8_t {
    kPageIn,
    kDiscard,
    kSwapOut,
    kSwapIn,
    kSetBudget,
    kHoldProgram,
    kLetProgramGo
  };

  Kind kind = Kind::kPageIn;
  bool for_write = false;   // kPageIn
  uint64_t first_byte = 0;  // kPageIn, kDiscard, kSwapOut
  uint64_t length = 0;      // the same; for kSetBudget the budget
  uint64_t ticket = 0;      // kPageIn, kSwapOut, kSwapIn
};

// Requests to the pager thread, in order of arrival, and the request to stop.
//
// Any thread can put a request; the lock is held briefly. The pager takes all at once by swapping
// its empty list for the full one, so that neither side allocates once the lists have grown.
class Inbox {
 public:
  [[nodiscard]] static ErrorOr<FileDescriptor> MakeSignal();
  explicit Inbox(FileDescriptor signal) : signal_(std::move(signal)) {}

  void Put(const Request& request) VERBENA_EXCLUDES(mutex_);
  void PutStop() VERBENA_EXCLUDES(mutex_);

  // Replaces `requests`. False if the pager must stop.
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
