#pragma once

#include <string>
#include <string_view>

#include "ibverbs/query/device_tree.h"
#include "verbena/error.h"

namespace verbena::ibverbs {

// Makes the folder `root` hold the tree and no other files. Several processes can write at once,
// and others can read meanwhile: each file is replaced atomically, as files of the kernel change
// one by one, and a file that is right already is left alone. REQUIRES: `root` is in a folder that
// only this user can write to.
[[nodiscard]] ErrorOr<void> WriteTree(const DeviceTree& tree, const std::string& root);

// The folder for the tree of this user, network namespace, device and link layer, so that programs
// with other ones do not remove each other's files: in $XDG_RUNTIME_DIR or,
// if this user does not own that, in /tmp/verbena-UID. Makes the folder above it, and fails if
// other users could have written to that. The path has no symbolic link in it.
[[nodiscard]] ErrorOr<std::string> TreeFolder(std::string_view device, LinkLayer link_layer);

// Makes the folder `path` if it does not exist, and fails if other users could have written to it.
// Returns its path without symbolic links.
[[nodiscard]] ErrorOr<std::string> SafeFolder(const std::string& path);

}  // namespace verbena::ibverbs
