#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "memory/spaces/current_io.h"

namespace verbena::memory {

// Current-I/O words in memory that is never swapped and that two processes share: a sealed memory
// file, which can neither shrink nor grow. The guest makes it and passes its descriptor; the
// hypervisor opens it. Each word has a cache line of its own, because threads of several processors
// change them all the time.
//
// Thread rule: any thread; the words as CurrentIo says.
class CurrentIoPage {
 public:
  static constexpr uint32_t kWords = 4'096;
  static constexpr size_t kWordBytes = 64;
  static constexpr size_t kBytes = kWords * kWordBytes;

  // All words are zero.
  [[nodiscard]] static ErrorOr<CurrentIoPage> Create();
  // REFUSES a file that is not a sealed one of kBytes: one that its maker could shorten would be a
  // signal for the process that reads it.
  [[nodiscard]] static ErrorOr<CurrentIoPage> Open(FileDescriptor file);
  CurrentIoPage(CurrentIoPage&& other) noexcept;
  CurrentIoPage& operator=(CurrentIoPage&& other) noexcept;
  ~CurrentIoPage();

  [[nodiscard]] int fd() const { return file_.get(); }
  // REQUIRES: index < kWords.
  [[nodiscard]] CurrentIo::Word& word(uint32_t index) const;

 private:
  CurrentIoPage(FileDescriptor file, std::byte* place);
  [[nodiscard]] static ErrorOr<CurrentIoPage> Map(FileDescriptor file);

  FileDescriptor file_;
  std::byte* place_ = nullptr;
};

}  // namespace verbena::memory
