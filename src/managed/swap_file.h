#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace verbena::managed {

// Bytes that go between one place of the file and several of memory.
struct Transfer {
  // Of the parts of one transfer.
  static constexpr size_t kPartsMax = 32;

  bool is_write = false;
  uint64_t offset = 0;
  std::span<const iovec> parts;  // stay where they are until the end, as does what they point at
  uint64_t token = 0;
};

struct TransferEnd {
  uint64_t token = 0;
  int64_t result = 0;  // bytes moved, or an errno, negative
};

// All system calls of the swap store: a file that is read and written without waiting. Tests
// put a slow, failing, full or lying one in its place.
//
// Owned by the store. One thread at a time. Destruction waits for what is under way.
class SwapFile {
 public:
  SwapFile() = default;
  SwapFile(const SwapFile&) = delete;
  SwapFile& operator=(const SwapFile&) = delete;
  virtual ~SwapFile() = default;

  // False when as many are under way as there may be; Reap helps.
  [[nodiscard]] virtual bool Start(const Transfer& transfer) = 0;
  // Those started may wait for each other until this is called.
  virtual void Kick() = 0;
  // Never waits. Returns how many ends it put in front of `ends`.
  [[nodiscard]] virtual size_t Reap(std::span<TransferEnd> ends) = 0;
  // Readable when Reap has something to return.
  [[nodiscard]] virtual int fd() const = 0;

  // Makes room on the disk for [from, to). 0, or an errno.
  [[nodiscard]] virtual int Reserve(uint64_t from, uint64_t to) = 0;

  // A word for reports.
  [[nodiscard]] virtual const char* method() const = 0;
};

// An open file that is ours alone and empty. `path` names a directory, and the file will have no
// name there; or a file (see base/own_file.h), which is emptied, unless another process uses it for
// the same. One that is not there is not made: it may be a mistyped directory.
[[nodiscard]] ErrorOr<FileDescriptor> OpenSwap(const std::string& path);

// Bytes that a swap file at `path` can get, as far as the system says.
[[nodiscard]] uint64_t RoomAt(const std::string& path);

// By fallocate, so that writing cannot fail for want of room; where the file system cannot do
// that, the file gets longer and has holes. EFBIG beyond what files may have (ulimit -f).
[[nodiscard]] int ReserveIn(int fd, uint64_t from, uint64_t to);

// On io_uring if the system lets us have one (sandboxes often do not), otherwise on a thread.
[[nodiscard]] ErrorOr<std::unique_ptr<SwapFile>> MakeSwapFile(const std::string& path,
                                                              uint32_t under_way_max);

}  // namespace verbena::managed
