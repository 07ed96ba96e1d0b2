#pragma once

#include <liburing.h>

#include <cstdint>
#include <memory>
#include <span>

#include "base/file_descriptor.h"
#include "managed/swap_file.h"

namespace verbena::managed {

// A swap file on io_uring: one system call submits all transfers that were started, and none is
// needed to reap them.
//
// Invariant: no more transfers are in flight than the ring was made for, so neither of its queues
// overflows.
class UringSwapFile final : public SwapFile {
 public:
  // nullptr, and `file` untouched, if the system refuses io_uring to this process.
  [[nodiscard]] static std::unique_ptr<SwapFile> Make(FileDescriptor& file, uint32_t under_way_max);
  ~UringSwapFile() override;

  [[nodiscard]] bool Start(const Transfer& transfer) override;
  void Kick() override;
  [[nodiscard]] size_t Reap(std::span<TransferEnd> ends) override;
  [[nodiscard]] int fd() const override { return ring_.ring_fd; }
  [[nodiscard]] int Reserve(uint64_t from, uint64_t to) override {
    return ReserveIn(file_.get(), from, to);
  }
  [[nodiscard]] const char* method() const override { return "io_uring"; }

 private:
  UringSwapFile(FileDescriptor file, const io_uring& ring, uint32_t under_way_max)
      : file_(std::move(file)), ring_(ring), under_way_max_(under_way_max) {}

  const FileDescriptor file_;
  io_uring ring_;
  const uint32_t under_way_max_;
  uint32_t under_way_ = 0;
};

}  // namespace verbena::managed
