#pragma once

#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/file_descriptor.h"
#include "managed/swap_file.h"

namespace verbena::managed {

// The failures of a swap file. A test may change them at any time, from any thread.
struct SwapTrouble {
  std::atomic<int> failing_reads = 0;   // this many of the next reads end in EIO
  std::atomic<int> failing_writes = 0;  // this many of the next writes
  std::atomic<int> short_reads = 0;     // this many of the next miss their last byte
  std::atomic<int> lying_reads = 0;     // this many of the next return one flipped bit
  std::atomic<int> no_room_writes = 0;  // this many of the next end in ENOSPC
  std::atomic<bool> is_full = false;    // cannot grow
  std::atomic<int64_t> delay_us = 0;    // before Reap returns an ended transfer
  std::atomic<int> started = 0;
};

// A real swap file with injected failures.
class TroubledSwapFile final : public SwapFile {
 public:
  TroubledSwapFile(std::unique_ptr<SwapFile> file, std::shared_ptr<SwapTrouble> trouble)
      : file_(std::move(file)), trouble_(std::move(trouble)) {
    for (const int source : {file_->fd(), timer_.get()}) {
      epoll_event readable{.events = EPOLLIN, .data = {}};
      CHECK(epoll_ctl(sources_.get(), EPOLL_CTL_ADD, source, &readable) == 0);
    }
  }

  bool Start(const Transfer& transfer) override {
    if (!file_->Start(transfer)) return false;
    ++trouble_->started;
    under_way_[transfer.token] = transfer;
    return true;
  }
  void Kick() override { file_->Kick(); }

  size_t Reap(std::span<TransferEnd> ends) override {
    std::array<TransferEnd, 16> fresh;
    const size_t ended = file_->Reap(fresh);
    for (size_t i = 0; i < ended; ++i) {
      Spoil(fresh[i]);
      ended_.emplace_back(Clock::now(), fresh[i]);
    }
    const auto delay = std::chrono::microseconds(trouble_->delay_us);
    size_t count = 0;
    while (count < ends.size() && !ended_.empty() && ended_.front().first + delay <= Clock::now()) {
      ends[count++] = ended_.front().second;
      ended_.pop_front();
    }
    SetTimer(ended_.empty() ? 0 : 100'000);
    return count;
  }
  int fd() const override { return sources_.get(); }
  int Reserve(uint64_t from, uint64_t to) override {
    return trouble_->is_full ? ENOSPC : file_->Reserve(from, to);
  }
  const char* method() const override { return file_->method(); }

 private:
  using Clock = std::chrono::steady_clock;

  // Makes fd() readable after this time, so that the caller reaps again; 0: never.
  void SetTimer(long nanoseconds) {
    const itimerspec when{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = nanoseconds}};
    CHECK(timerfd_settime(timer_.get(), 0, &when, nullptr) == 0);
  }

  // Decrements `left` and returns true, unless it is 0.
  static bool Takes(std::atomic<int>& left) {
    if (left <= 0) return false;
    --left;
    return true;
  }

  void Spoil(TransferEnd& end) {
    const auto node = under_way_.extract(end.token);
    const Transfer& transfer = node.mapped();
    if (transfer.is_write) {
      if (Takes(trouble_->failing_writes)) end.result = -EIO;
      if (Takes(trouble_->no_room_writes)) end.result = -ENOSPC;
      return;
    }
    if (Takes(trouble_->failing_reads)) end.result = -EIO;
    if (Takes(trouble_->short_reads)) --end.result;
    if (Takes(trouble_->lying_reads)) {
      static_cast<std::byte*>(transfer.parts[0].iov_base)[100] ^= std::byte{4};
    }
  }

  const std::unique_ptr<SwapFile> file_;
  const std::shared_ptr<SwapTrouble> trouble_;
  const FileDescriptor timer_{timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)};
  const FileDescriptor sources_{epoll_create1(EPOLL_CLOEXEC)};
  std::map<uint64_t, Transfer> under_way_;
  std::deque<std::pair<Clock::time_point, TransferEnd>> ended_;
};

}  // namespace verbena::managed
