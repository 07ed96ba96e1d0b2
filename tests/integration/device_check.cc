// Queries the device by the verbs, and compares the results with the device files, which are those
// that the kernel has for its devices. Linked with the system's library, as other programs are.

#include <infiniband/verbs.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

namespace {

int failures = 0;

std::string Read(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::string line = text.str();
  if (line.ends_with('\n')) line.pop_back();
  return line;
}

void Compare(const std::string& path, const std::string& expected) {
  const std::string found = Read(path);
  if (found == expected) return;
  ++failures;
  std::printf("%s: '%s', expected '%s'\n", path.c_str(), found.c_str(), expected.c_str());
}

std::string Groups(const uint8_t* bytes, size_t count) {
  std::string text;
  std::array<char, 8> group{};
  for (size_t i = 0; i < count; i += 2) {
    std::snprintf(group.data(), group.size(), "%s%02x%02x", i > 0 ? ":" : "", bytes[i],
                  bytes[i + 1]);
    text += group.data();
  }
  return text;
}

std::string Hex(unsigned value) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0x%x", value);
  return text.data();
}

void CompareDevice(ibv_context* context) {
  const std::string folder = context->device->ibdev_path;
  ibv_device_attr device{};
  ibv_query_device(context, &device);
  const auto* const guid = reinterpret_cast<const uint8_t*>(&device.node_guid);
  Compare(folder + "/node_guid", Groups(guid, 8));
  Compare(folder + "/sys_image_guid",
          Groups(reinterpret_cast<const uint8_t*>(&device.sys_image_guid), 8));
  Compare(folder + "/fw_ver", device.fw_ver);
  Compare(folder + "/device/device", Hex(device.vendor_part_id));
  Compare(std::string(context->device->dev_path) + "/ibdev", context->device->name);
  struct stat file = {};
  const std::string path = std::string("/dev/infiniband/") + context->device->dev_name;
  if (stat(path.c_str(), &file) != 0) std::memset(&file, 0, sizeof file);
  Compare(std::string(context->device->dev_path) + "/dev",
          std::to_string(major(file.st_rdev)) + ":" + std::to_string(minor(file.st_rdev)));
}

void ComparePort(ibv_context* context) {
  const std::string folder = std::string(context->device->ibdev_path) + "/ports/1/";
  ibv_port_attr port{};
  ibv_query_port(context, 1, &port);
  Compare(folder + "state", std::to_string(port.state) + ": ACTIVE");
  Compare(folder + "phys_state", std::to_string(port.phys_state) + ": LinkUp");
  Compare(folder + "lid", Hex(port.lid));
  Compare(folder + "sm_lid", Hex(port.sm_lid));
  Compare(folder + "link_layer",
          port.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand");
  Compare(folder + "pkeys/0", "0xffff");
  for (int i = 0; i < port.gid_tbl_len; ++i) {
    const std::string index = std::to_string(i);
    ibv_gid gid{};
    ibv_query_gid(context, 1, i, &gid);
    Compare(folder + "gids/" + index, Groups(gid.raw, 16));
    ibv_gid_entry entry{};
    const bool there = ibv_query_gid_ex(context, 1, static_cast<uint32_t>(i), &entry, 0) == 0;
    const bool roce = entry.gid_type == IBV_GID_TYPE_ROCE_V2;
    Compare(folder + "gid_attrs/types/" + index, !there ? "" : roce ? "RoCE v2" : "IB/RoCE v1");
  }
}

}  // namespace

int main() {
  int count = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  if (list == nullptr || count != 1) {
    std::puts("expected exactly one device");
    return 1;
  }
  ibv_context* const context = ibv_open_device(list[0]);
  if (context == nullptr) {
    std::puts("the device cannot be opened");
    return 1;
  }
  CompareDevice(context);
  ComparePort(context);
  if (failures == 0) std::puts("all agree");
  ibv_close_device(context);
  ibv_free_device_list(list);
  return failures == 0 ? 0 : 1;
}
