#include "host/memory_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "base/log.h"

namespace verbena::host {
namespace {

uint64_t ResidentOf(int fd) {
  constexpr uint64_t kBlock = 512;
  struct stat status {};
  return fstat(fd, &status) == 0 ? static_cast<uint64_t>(status.st_blocks) * kBlock : 0;
}

bool PunchOut(int fd, uint64_t first, uint64_t length) {
  return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first),
                   static_cast<off_t>(length)) == 0;
}

}  // namespace

ErrorOr<void> MemoryFiles::Add(uint32_t number, FileDescriptor file, uint64_t bytes, size_t max) {
  const auto refuse = [](const char* why) { return Fail(Error{ErrorCode::kInvalid, why}); };
  if (files_.size() >= max) return refuse("it declares too many pieces of memory");
  if (files_.contains(number)) return refuse("it declares a piece of memory twice");
  // Seals come first: of another kind of file even its size may take for ever.
  const int seals = file.is_open() ? fcntl(file.get(), F_GET_SEALS) : -1;
  if (seals < 0) return refuse("it declares memory that is no memory file");
  if ((seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK)) != 0 ||
      (fcntl(file.get(), F_GETFL) & O_ACCMODE) != O_RDWR) {
    return refuse("it declares memory that could not be taken back");
  }
  struct stat status {};
  if (fstat(file.get(), &status) != 0 || static_cast<uint64_t>(status.st_size) != bytes) {
    return refuse("it declares memory of another size than its file has");
  }
  files_.emplace(number, File{std::move(file), bytes});
  return {};
}

uint64_t MemoryFiles::bytes() const {
  uint64_t sum = 0;
  for (const auto& [number, file] : files_) sum += file.bytes;
  return sum;
}

uint64_t MemoryFiles::resident() const {
  uint64_t sum = 0;
  for (const auto& [number, file] : files_) sum += ResidentOf(file.file.get());
  return sum;
}

uint64_t MemoryFiles::Punch(uint64_t bytes) const {
  constexpr uint64_t kPiece = uint64_t{16} << 20;
  uint64_t taken = 0;
  for (const auto& [number, file] : files_) {
    const int fd = file.file.get();
    // Holes count nothing, so what is taken is measured.
    for (uint64_t at = 0; at < file.bytes && taken < bytes; at += kPiece) {
      const uint64_t before = ResidentOf(fd);
      if (!PunchOut(fd, at, std::min(kPiece, file.bytes - at))) {
        Log(LogLevel::kWarning, SystemError("memory of a guest cannot be punched").text);
        break;
      }
      const uint64_t after = ResidentOf(fd);
      taken += before - std::min(before, after);
    }
  }
  return taken;
}

void MemoryFiles::TakeAll() {
  for (const auto& [number, file] : files_) {
    if (ftruncate(file.file.get(), 0) != 0) PunchOut(file.file.get(), 0, file.bytes);
  }
  files_.clear();
}

}  // namespace verbena::host
