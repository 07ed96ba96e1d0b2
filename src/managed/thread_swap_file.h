#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>

#include "base/file_descriptor.h"
#include "base/ring.h"
#include "managed/swap_file.h"

namespace verbena::managed {

// A swap file for systems that refuse io_uring: one thread reads and writes, one transfer after the
// other.
//
// Invariant: the transfers that wait, run or have ended are `under_way_max` together at most. The
// lock is held only briefly, never during a transfer.
class ThreadSwapFile final : public SwapFile {
 public:
  [[nodiscard]] static ErrorOr<std::unique_ptr<SwapFile>> Make(FileDescriptor file,
                                                               uint32_t under_way_max);
  ~ThreadSwapFile() override;

  [[nodiscard]] bool Start(const Transfer& transfer) override;
  void Kick() override { wanted_some_.notify_one(); }
  [[nodiscard]] size_t Reap(std::span<TransferEnd> ends) override;
  [[nodiscard]] int fd() const override { return ended_some_.get(); }
  [[nodiscard]] int Reserve(uint64_t from, uint64_t to) override {
    return ReserveIn(file_.get(), from, to);
  }
  [[nodiscard]] const char* method() const override { return "a thread"; }

 private:
  ThreadSwapFile(FileDescriptor file, FileDescriptor ended_some, uint32_t under_way_max);

  void Work();
  [[nodiscard]] TransferEnd Carry(const Transfer& transfer) const;

  const FileDescriptor file_;
  const FileDescriptor ended_some_;  // an eventfd: readable while `ended_` is not empty
  // std::mutex, because a condition variable needs it; the thread-safety analysis does not know it.
  // Guards wanted_, ended_, under_way_ and stops_.
  std::mutex mutex_;
  std::condition_variable wanted_some_;
  Ring<Transfer> wanted_;
  Ring<TransferEnd> ended_;
  uint32_t under_way_ = 0;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace verbena::managed
