#include "ibverbs/query/device_tree.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <span>

#include "ibverbs/query/counter_files.h"
#include "ibverbs/query/device.h"
#include "ibverbs/query/device_text.h"
#include "ibverbs/query/port_attributes.h"
#include "preload/device_path.h"

namespace verbena::ibverbs {
namespace {

// In /sys a device lies below its PCI function, and programs walk up to that. Ours is in a PCI
// domain that no machine has.
constexpr std::string_view kFunction = "/sys/devices/pci7665:00/7665:00:00.0";
constexpr std::string_view kUserAbi = "6";  // of the kernel's user-space verbs
constexpr std::string_view kMadAbi = "5";   // of its management datagrams

// Adds files and links below one folder to a tree.
class Folder {
 public:
  Folder(DeviceTree& tree, std::string path) : tree_(tree), path_(std::move(path)) {}

  void Add(std::string_view name, std::string_view text) {
    tree_.files.push_back({Path(name), std::string(text) + "\n"});
  }
  void Link(std::string_view name, std::string_view target) {
    tree_.links.push_back({Path(name), std::string(target)});
  }
  [[nodiscard]] Folder Below(std::string_view name) const { return {tree_, Path(name)}; }

 private:
  [[nodiscard]] std::string Path(std::string_view name) const {
    return path_ + "/" + std::string(name);
  }

  DeviceTree& tree_;
  std::string path_;
};

void AddIdentity(Folder folder, const DeviceFacts& facts) {
  folder.Add("node_type", TheDevice().node_type == IBV_NODE_RNIC ? "4: RNIC" : "1: CA");
  folder.Add("node_guid", GuidText(facts.device.node_guid));
  folder.Add("sys_image_guid", GuidText(facts.device.sys_image_guid));
  folder.Add("node_desc", TheDevice().name);
  folder.Add("fw_ver", facts.device.fw_ver);
  folder.Add("hca_type", "verbena");
  folder.Add("hw_rev", HexText(facts.device.hw_ver, 0));
  folder.Add("board_id", "verbena");
}

void AddPortState(Folder port, const ibv_port_attr& attributes) {
  const bool ethernet = attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
  port.Add("state", std::to_string(attributes.state) + ": ACTIVE");
  port.Add("phys_state", std::to_string(attributes.phys_state) + ": LinkUp");
  port.Add("rate", RateText(attributes));
  port.Add("link_layer", ethernet ? "Ethernet" : "InfiniBand");
  port.Add("lid", "0x" + HexText(attributes.lid, 0));
  port.Add("lid_mask_count", std::to_string(attributes.lmc));
  port.Add("sm_lid", "0x" + HexText(attributes.sm_lid, 0));
  port.Add("sm_sl", std::to_string(attributes.sm_sl));
  port.Add("cap_mask", "0x" + HexText(attributes.port_cap_flags, 8));
  port.Below("pkeys").Add("0", "0x" + HexText(kDefaultPartition, 4));
}

// An empty entry reads as zeros, and has no attributes.
void AddGids(Folder port, const DeviceFacts& facts) {
  const bool roce = facts.link_layer == LinkLayer::kRoce;
  Folder gids = port.Below("gids");
  Folder types = port.Below("gid_attrs/types");
  Folder interfaces = port.Below("gid_attrs/ndevs");
  for (size_t i = 0; i < static_cast<size_t>(facts.port.gid_tbl_len); ++i) {
    const std::string index = std::to_string(i);
    const auto& entry = i < facts.gids.size() ? facts.gids[i] : std::nullopt;
    gids.Add(index, GidText(entry ? entry->gid : Gid{}));
    if (!entry) continue;
    types.Add(index, roce ? "RoCE v2" : "IB/RoCE v1");
    if (roce) interfaces.Add(index, entry->interface_name);
  }
}

void AddCounters(Folder port, const DeviceCounters& counters) {
  Folder folder = port.Below("counters");
  Folder own = port.Below("hw_counters");
  for (const CounterFile& file : PortCounterFiles(counters)) {
    folder.Add(file.name, std::to_string(file.value));
  }
  for (const CounterFile& file : HardwareCounterFiles(counters)) {
    own.Add(file.name, std::to_string(file.value));
  }
}

// The PCI function. A program learns from it that the model is in no list of known devices, which
// processors are near, and that the bus is not the bottleneck.
void AddFunction(Folder function, const DeviceFacts& facts) {
  constexpr uint64_t kVendorMask = 0xFFFF;
  const bool roce = facts.link_layer == LinkLayer::kRoce;
  const std::string vendor = "0x" + HexText(facts.device.vendor_id & kVendorMask, 4);
  const std::string part = "0x" + HexText(facts.device.vendor_part_id, 4);
  function.Add("vendor", vendor);
  function.Add("device", part);
  function.Add("subsystem_vendor", vendor);
  function.Add("subsystem_device", part);
  function.Add("class", roce ? "0x020000" : "0x020700");
  function.Add("revision", "0x00");
  function.Add("numa_node", "-1");
  function.Add("local_cpus", CpuMaskText(facts.processors));
  function.Add("local_cpulist", CpuListText(facts.processors));
  for (const std::string_view which : {"current_link_", "max_link_"}) {
    function.Add(std::string(which) + "speed", "16.0 GT/s PCIe");
    function.Add(std::string(which) + "width", "16");
  }
  function.Link("subsystem", "../../../bus/pci");
}

void AddInterfaces(Folder function, const DeviceFacts& facts) {
  std::set<std::string> names;
  for (const auto& entry : facts.gids) {
    if (entry) names.insert(entry->interface_name);
  }
  Folder interfaces = function.Below("net");
  for (const std::string& name : names) interfaces.Link(name, "/sys/class/net/" + name);
}

void AddVerbs(Folder verbs) {
  using preload::kDeviceMajor;
  using preload::kDeviceMinor;
  verbs.Add("ibdev", TheDevice().name);
  verbs.Add("abi_version", "1");
  verbs.Add("dev", std::to_string(kDeviceMajor) + ":" + std::to_string(kDeviceMinor));
  verbs.Link("device", "../../../7665:00:00.0");
  verbs.Link("subsystem", "../../../../../class/infiniband_verbs");
}

void AddClasses(DeviceTree& tree) {
  const std::string name = TheDevice().name;
  const std::string verbs = TheDevice().dev_name;
  Folder classes(tree, "/sys/class");
  const std::string function = "../../devices/pci7665:00/7665:00:00.0/";
  classes.Link("infiniband/" + name, function + "infiniband/" + name);
  classes.Link("infiniband_verbs/" + verbs, function + "infiniband_verbs/" + verbs);
  classes.Add("infiniband_verbs/abi_version", kUserAbi);
  classes.Add("infiniband_mad/abi_version", kMadAbi);
  Folder(tree, "/sys/bus/pci/devices")
      .Link("7665:00:00.0", "../../../devices/pci7665:00/7665:00:00.0");
  // For programs that list the folder. An open of the device is recognised by its path.
  tree.links.push_back({std::string(preload::kDevicePath), "/dev/null"});
}

// The path with the first link of the tree that it passes through resolved; nullopt if it passes
// through none.
std::optional<std::string> Followed(const DeviceTree& tree, const std::string& path) {
  for (const DeviceLink& link : tree.links) {
    if (!path.starts_with(link.path + "/")) continue;
    const auto folder = std::filesystem::path(link.path).parent_path();
    return (folder / link.target).lexically_normal().string() + path.substr(link.path.size());
  }
  return std::nullopt;
}

}  // namespace

const std::string* DeviceTree::Find(std::string_view path) const {
  constexpr int kLinksMax = 16;  // "device" links make circles
  // What ".." means depends on the links before it: such paths are left to the kernel.
  if (path.find("/..") != std::string_view::npos) return nullptr;
  std::string at = std::filesystem::path(path).lexically_normal().string();
  if (at.starts_with("//")) at.erase(0, 1);
  for (int i = 0; i < kLinksMax; ++i) {
    const auto next = Followed(*this, at);
    if (!next) break;
    at = *next;
  }
  const auto found = std::ranges::find(files, at, &DeviceFile::path);
  return found != files.end() ? &found->text : nullptr;
}

DeviceTree Describe(const DeviceFacts& facts) {
  DeviceTree tree;
  Folder function(tree, std::string(kFunction));
  AddFunction(function, facts);
  AddInterfaces(function, facts);
  Folder device = function.Below("infiniband").Below(TheDevice().name);
  AddIdentity(device, facts);
  device.Link("device", "../../../7665:00:00.0");
  device.Link("subsystem", "../../../../../class/infiniband");
  Folder port = device.Below("ports/1");
  AddPortState(port, facts.port);
  AddGids(port, facts);
  AddCounters(port, facts.counters);
  AddVerbs(function.Below("infiniband_verbs").Below(TheDevice().dev_name));
  AddClasses(tree);
  return tree;
}

}  // namespace verbena::ibverbs
