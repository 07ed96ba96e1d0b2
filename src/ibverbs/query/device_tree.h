#pragma once

#include <infiniband/verbs.h>

#include <string>
#include <string_view>
#include <vector>

#include "ibverbs/query/gid_table.h"
#include "ibverbs/settings.h"
#include "verbena/counters.h"

// The files that programs read about a device beside what the verbs tell: the kernel has them in
// /sys and /dev, of devices that it knows. Here they are made from what the verbs answer.

namespace verbena::ibverbs {

struct DeviceFile {
  std::string path;
  std::string text;
};

struct DeviceLink {
  std::string path;
  std::string target;  // relative to the folder that the link is in, or absolute
};

// A value. Paths are as programs see them.
struct DeviceTree {
  std::vector<DeviceFile> files;
  std::vector<DeviceLink> links;

  // What a path reads as, whichever of the links it goes by; null if there is no such file. Slashes
  // may be repeated.
  [[nodiscard]] const std::string* Find(std::string_view path) const;
};

// All that the files tell.
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
