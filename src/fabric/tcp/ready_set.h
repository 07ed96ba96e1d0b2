#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "base/result.h"
#include "fabric/file_descriptor.h"
#include "verbena/strong_id.h"

namespace verbena::fabric {

// What a file of a ReadySet is called by its owner.
using ReadyId = StrongId<struct ReadyIdTag, uint64_t>;

// What a file is watched for.
struct Interest {
  bool reads = false;
  bool writes = false;

  friend bool operator==(const Interest&, const Interest&) = default;
};

// Files, and which of them are ready (epoll). A file that is watched for nothing is not in the set
// at all: the kernel would report a broken connection again and again.
//
// Its owner guards it; another thread may wait for fd().
class ReadySet {
 public:
  [[nodiscard]] static ErrorOr<ReadySet> Open();

  // Readable while a file is ready.
  [[nodiscard]] int fd() const { return set_.get(); }

  // Watches `file` for `wanted` instead of `before`. False if the system has no memory for it.
  [[nodiscard]] bool Watch(int file, ReadyId id, Interest before, Interest wanted) const;

  // Files that one call reports; the next call reports the others.
  static constexpr size_t kReadyMax = 64;
  using Ready = std::array<ReadyId, kReadyMax>;
  // Those that are ready now. Never waits.
  [[nodiscard]] std::span<const ReadyId> Look(Ready& room) const;

 private:
  explicit ReadySet(FileDescriptor set) : set_(std::move(set)) {}

  FileDescriptor set_;
};

}  // namespace verbena::fabric
