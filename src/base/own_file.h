#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace verbena {

// Files that a user names for Verbena to write: traces and swap files. Such a name may stand in a
// folder that others write to, and the program may be root's. So the last part of the name is no
// symbolic link, and what is there already is a regular file of the same user (root may write to
// any user's). FIFOs, sockets and devices are refused before they are opened, which alone may hang,
// or do something. A file that is made is the user's alone.

enum class FileUse : uint8_t {
  kAppend,     // what is there stays
  kReadWrite,  // for the reader that empties it
};

// The text of an error begins with the path; its errno is EACCES for what is refused here.
[[nodiscard]] ErrorOr<FileDescriptor> OpenOwnFile(const std::string& path, FileUse use);

// Why OpenOwnFile would refuse, as far as that can be known without opening or making anything;
// empty if it would not.
[[nodiscard]] std::string WhyNoOwnFile(const std::string& path);

}  // namespace verbena
