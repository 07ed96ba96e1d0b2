#include "memory/spaces/current_io_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/check.h"
#include "base/file_size_signal.h"

namespace verbena::memory {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

}  // namespace

CurrentIoPage::CurrentIoPage(FileDescriptor file, std::byte* place)
    : file_(std::move(file)), place_(place) {}

CurrentIoPage::CurrentIoPage(CurrentIoPage&& other) noexcept
    : file_(std::move(other.file_)), place_(std::exchange(other.place_, nullptr)) {}

CurrentIoPage& CurrentIoPage::operator=(CurrentIoPage&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(place_, other.place_);
  return *this;
}

CurrentIoPage::~CurrentIoPage() {
  if (place_ != nullptr) munmap(place_, kBytes);
}

ErrorOr<CurrentIoPage> CurrentIoPage::Create() {
  FileDescriptor file(memfd_create("verbena-current-io", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.is_open()) return Fail(SystemError("memfd_create"));
  const NoFileSizeSignal no_signal;
  if (ftruncate(file.get(), kBytes) != 0 || fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) {
    return Fail(SystemError("the page of current-I/O words"));
  }
  return Map(std::move(file));
}

ErrorOr<CurrentIoPage> CurrentIoPage::Open(FileDescriptor file) {
  struct stat status {};
  const bool is_whole = fstat(file.get(), &status) == 0 && status.st_size == kBytes;
  const int seals = fcntl(file.get(), F_GET_SEALS);
  if (!is_whole || seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return Fail(SystemError(EINVAL, "this is no sealed page of current-I/O words"));
  }
  return Map(std::move(file));
}

ErrorOr<CurrentIoPage> CurrentIoPage::Map(FileDescriptor file) {
  void* const place = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (place == MAP_FAILED) return Fail(SystemError("mapping of current-I/O words"));
  return CurrentIoPage(std::move(file), static_cast<std::byte*>(place));
}

CurrentIo::Word& CurrentIoPage::word(uint32_t index) const {
  CHECK(index < kWords);
  return *reinterpret_cast<CurrentIo::Word*>(place_ + index * kWordBytes);
}

}  // namespace verbena::memory
