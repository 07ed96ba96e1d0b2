#pragma once

#include <unistd.h>

#include <utility>

namespace verbena {

// Owns an open file and closes it. Movable, so that a function can return one; a moved-from object
// is empty. One thread at a time.
class FileDescriptor {
 public:
  static constexpr int kNone = -1;

  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, kNone)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (is_open()) close(fd_);
  }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }

 private:
  int fd_ = kNone;
};

}  // namespace verbena
