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

// A read or write of consecutive bytes of the file, scattered in memory.
struct Transfer {
  static constexpr size_t kPartsMax = 128;

  bool is_write = false;
  uint64_t offset = 0;
  std::span<const iovec> parts;  // valid until the transfer ends, as are the buffers
  uint64_t token = 0;
};

struct TransferEnd {
  uint64_t token = 0;
  int64_t result = 0;  // bytes moved, or an errno, negative
};

// All system calls of the swap store: a file that is read and written asynchronously. Tests replace
// it by one that is slow, full, fails, or returns wrong bytes.
//
// Owned by the store. One thread at a time. The destructor waits for outstanding transfers.
class SwapFile {
 public:
  SwapFile() = default;
  SwapFile(const SwapFile&) = delete;
  SwapFile& operator=(const SwapFile&) = delete;
  virtual ~SwapFile() = default;

  // False if the maximum number of transfers is outstanding; Reap makes room.
  [[nodiscard]] virtual bool Start(const Transfer& transfer) = 0;
  // Started transfers may not reach the system before this is called.
  virtual void Kick() = 0;
  // Writes ended transfers to the front of `ends` and returns how many. Never waits.
  [[nodiscard]] virtual size_t Reap(std::span<TransferEnd> ends) = 0;
  // Readable when Reap has something to return.
  [[nodiscard]] virtual int fd() const = 0;

  // Allocates disk space for [from, to). Returns 0 or an errno.
  [[nodiscard]] virtual int Reserve(uint64_t from, uint64_t to) = 0;

  // The method in words, for reports.
  [[nodiscard]] virtual const char* method() const = 0;
};

// Opens an empty file for the use of this process alone. `path` names a directory, in which the
// file has no name; or an existing file (see base/own_file.h), which is truncated, unless another
// process uses it as a swap file. A missing file is not created: the path can be a mistyped
// directory.
[[nodiscard]] ErrorOr<FileDescriptor> OpenSwap(const std::string& path);

// Bytes available for a swap file at `path`, according to the system.
[[nodiscard]] uint64_t RoomAt(const std::string& path);

// Uses fallocate, so that writes cannot fail for lack of disk space; where the file system does not
// support it, the file is extended with holes. EFBIG beyond the limit of file sizes (ulimit -f).
[[nodiscard]] int ReserveIn(int fd, uint64_t from, uint64_t to);

// Uses io_uring if the system permits it (sandboxes often do not), otherwise a thread.
[[nodiscard]] ErrorOr<std::unique_ptr<SwapFile>> MakeSwapFile(const std::string& path,
                                                              uint32_t under_way_max);

}  // namespace verbena::managed
