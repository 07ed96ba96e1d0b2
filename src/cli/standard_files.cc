#include "cli/standard_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace verbena::cli {

void OpenStandardFiles() {
  for (int file = STDIN_FILENO; file <= STDERR_FILENO; ++file) {
    if (fcntl(file, F_GETFD) >= 0 || errno != EBADF) continue;
    // open returns the lowest free descriptor. Those below are open, so it is this one.
    if (open("/dev/null", O_RDONLY | O_CLOEXEC) != file) return;
  }
}

bool FlushOutput() {
  // std::cout has no buffer of its own: it writes into the buffer of stdout.
  const bool failed_before = std::ferror(stdout) != 0;
  if (std::fflush(stdout) == 0 && !failed_before) return true;
  std::fprintf(stderr, "verbena: cannot write to standard output: %s\n",
               failed_before ? "an earlier write failed" : std::strerror(errno));
  return false;
}

}  // namespace verbena::cli
