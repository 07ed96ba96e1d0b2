#include "cli/exec.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace verbena::cli {

std::filesystem::path ThisProgram(const char* called) {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  return failed ? std::filesystem::path(called) : self;
}

Outcome Exec(std::vector<std::string> command, const std::string& advice) {
  std::vector<char*> pointers;
  for (std::string& word : command) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execvp(pointers[0], pointers.data());
  const int why = errno;
  const bool is_missing = why == ENOENT || why == ENOTDIR;
  Error error{.code = ErrorCode::kSystem,
              .text = "cannot start " + command[0] + ": " + std::strerror(why) +
                      (is_missing ? "; " + advice : ""),
              .os_error = why};
  return tl::unexpected(Failure(std::move(error), is_missing ? kNotFound : kNotExecutable));
}

}  // namespace verbena::cli
