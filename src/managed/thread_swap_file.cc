#include "managed/thread_swap_file.h"

#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/check.h"
#include "base/quiet_thread.h"

namespace verbena::managed {

ErrorOr<std::unique_ptr<SwapFile>> ThreadSwapFile::Make(FileDescriptor file,
                                                        uint32_t under_way_max) {
  FileDescriptor ended(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!ended.is_open()) return Fail(SystemError("eventfd"));
  return std::unique_ptr<SwapFile>(
      new ThreadSwapFile(std::move(file), std::move(ended), under_way_max));
}

ThreadSwapFile::ThreadSwapFile(FileDescriptor file, FileDescriptor ended_some,
                               uint32_t under_way_max)
    : file_(std::move(file)),
      ended_some_(std::move(ended_some)),
      wanted_(under_way_max),
      ended_(under_way_max),
      thread_(StartQuietThread("verbena-swap", [this] { Work(); })) {}

ThreadSwapFile::~ThreadSwapFile() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  wanted_some_.notify_one();
  thread_.join();
}

bool ThreadSwapFile::Start(const Transfer& transfer) {
  const std::lock_guard lock(mutex_);
  if (under_way_ == wanted_.capacity()) return false;
  ++under_way_;
  CHECK(wanted_.TryPush(transfer));
  return true;
}

size_t ThreadSwapFile::Reap(std::span<TransferEnd> ends) {
  const std::lock_guard lock(mutex_);
  size_t count = 0;
  while (count < ends.size() && !ended_.empty()) ends[count++] = *ended_.TryPop();
  under_way_ -= static_cast<uint32_t>(count);
  if (ended_.empty()) {
    uint64_t signals = 0;
    [[maybe_unused]] const ssize_t cleared = read(ended_some_.get(), &signals, sizeof signals);
  }
  return count;
}

// Ends only when all started transfers are done, because they use the buffers of their orders.
void ThreadSwapFile::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wanted_some_.wait(lock, [this] { return stops_ || !wanted_.empty(); });
    if (wanted_.empty()) return;
    const Transfer transfer = *wanted_.TryPop();
    lock.unlock();
    const TransferEnd end = Carry(transfer);
    lock.lock();
    CHECK(ended_.TryPush(end));
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t signalled = write(ended_some_.get(), &one, sizeof one);
  }
}

TransferEnd ThreadSwapFile::Carry(const Transfer& transfer) const {
  const auto parts = static_cast<int>(transfer.parts.size());
  const auto offset = static_cast<off_t>(transfer.offset);
  ssize_t moved = 0;
  do {
    moved = transfer.is_write ? pwritev(file_.get(), transfer.parts.data(), parts, offset)
                              : preadv(file_.get(), transfer.parts.data(), parts, offset);
  } while (moved < 0 && errno == EINTR);
  return {.token = transfer.token, .result = moved < 0 ? -errno : moved};
}

}  // namespace verbena::managed
