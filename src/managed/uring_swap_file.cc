#include "managed/uring_swap_file.h"

#include <array>
#include <utility>

#include "base/check.h"

namespace verbena::managed {

std::unique_ptr<SwapFile> UringSwapFile::Make(FileDescriptor& file, uint32_t under_way_max) {
  io_uring ring{};
  if (io_uring_queue_init(under_way_max, &ring, 0) != 0) return nullptr;
  // A forked child must not share the rings. On kernels without this advice the child keeps a
  // mapping that it never uses.
  io_uring_ring_dontfork(&ring);
  return std::unique_ptr<SwapFile>(new UringSwapFile(std::move(file), ring, under_way_max));
}

UringSwapFile::~UringSwapFile() {
  Kick();
  while (under_way_ > 0) {
    std::array<TransferEnd, 16> ends;
    io_uring_cqe* end = nullptr;
    io_uring_wait_cqe(&ring_, &end);
    static_cast<void>(Reap(ends));
  }
  io_uring_queue_exit(&ring_);
}

bool UringSwapFile::Start(const Transfer& transfer) {
  if (under_way_ == under_way_max_) return false;
  io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
  CHECK(entry != nullptr);
  const auto parts = static_cast<unsigned>(transfer.parts.size());
  if (transfer.is_write) {
    io_uring_prep_writev(entry, file_.get(), transfer.parts.data(), parts, transfer.offset);
  } else {
    io_uring_prep_readv(entry, file_.get(), transfer.parts.data(), parts, transfer.offset);
  }
  io_uring_sqe_set_data64(entry, transfer.token);
  ++under_way_;
  return true;
}

void UringSwapFile::Kick() {
  // Entries that the kernel does not accept yet stay in the ring for the next call.
  io_uring_submit(&ring_);
}

size_t UringSwapFile::Reap(std::span<TransferEnd> ends) {
  size_t count = 0;
  io_uring_cqe* end = nullptr;
  while (count < ends.size() && io_uring_peek_cqe(&ring_, &end) == 0) {
    ends[count++] = {.token = io_uring_cqe_get_data64(end), .result = end->res};
    io_uring_cqe_seen(&ring_, end);
    --under_way_;
  }
  return count;
}

}  // namespace verbena::managed
