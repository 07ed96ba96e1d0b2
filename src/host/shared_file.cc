#include "host/shared_file.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace verbena::host {

ErrorOr<SharedFile> InspectSharedFile(int fd) {
  // Seals come first: of another kind of file even its size may take for ever.
  if (fd < 0 || fcntl(fd, F_GET_SEALS) < 0) {
    return Fail(InvalidError("the file is no shared memory: memfd_create or shm_open make it"));
  }
  const int mode = fcntl(fd, F_GETFL);
  struct stat status {};
  if (mode < 0 || fstat(fd, &status) != 0) return Fail(SystemError("the file of a buffer"));
  if ((mode & O_PATH) != 0 || (mode & O_ACCMODE) == O_WRONLY) {
    return Fail(InvalidError("the file is not open for reading"));
  }
  return SharedFile{.identity = {.device = status.st_dev, .inode = status.st_ino},
                    .bytes = static_cast<uint64_t>(status.st_size),
                    .is_writable = (mode & O_ACCMODE) == O_RDWR};
}

}  // namespace verbena::host
