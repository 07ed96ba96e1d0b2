#pragma once

#include <infiniband/verbs.h>

#include <string>
#include <string_view>
#include <vector>

#include "ibverbs/query/gid_table.h"
#include "ibverbs/settings.h"
#include "verbena/counters.h"

// The files in /sys and /dev about a device, which programs read in addition to the verbs. The
// kernel provides them for its own devices; ours are generated from the results of the verbs.

namespace verbena::ibverbs {

struct DeviceFile {
  std::string path;
  std::string text;
};

struct DeviceLink {
  std::string path;
  std::string target;  // relative to the folder that the link is in, or absolute
};

// A value type. Paths are as programs see them.
struct DeviceTree {
  std::vector<DeviceFile> files;
  std::vector<DeviceLink> links;

  // The text of the file at `path`, which can pass through links and have repeated slashes. Null if
  // there is no such file.
  [[nodiscard]] const std::string* Find(std::string_view path) const;
};

// The inputs of Describe.
struct DeviceFacts {
  ibv_device_attr device = {};  // FillIdentity
  ibv_port_attr port = {};
  GidTable::Entries gids = {};
  LinkLayer link_layer = LinkLayer::kRoce;
  unsigned processors = 1;
  DeviceCounters counters = {};
};

[[nodiscard]] DeviceTree Describe(const DeviceFacts& facts);

}  // namespace verbena::ibverbs
