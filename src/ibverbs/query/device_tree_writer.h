#pragma once

#include <string>

#include "ibverbs/query/device_tree.h"
#include "verbena/error.h"

namespace verbena::ibverbs {

// Makes the folder `root` hold the tree and nothing else. Several processes may do so at once, and
// others read meanwhile: each file is replaced as a whole, as the kernel's own change one by one,
// and what is right already is left alone. `root` is in a folder that only we write to.
[[nodiscard]] ErrorOr<void> WriteTree(const DeviceTree& tree, const std::string& root);

// Where the tree of this user, this network and this look is: in $XDG_RUNTIME_DIR or, if that is
// none of ours, in /tmp/verbena-UID. The folder above it is made, and refused if others could have
// written to it. The path has no link in it.
[[nodiscard]] ErrorOr<std::string> TreeFolder(LinkLayer link_layer);

// The same below a folder that is there; for tests.
[[nodiscard]] ErrorOr<std::string> SafeFolder(const std::string& path);

}  // namespace verbena::ibverbs
