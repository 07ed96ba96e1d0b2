#include "ibverbs/query/device_tree.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "ibverbs/query/device.h"
#include "ibverbs/query/port_attributes.h"
#include "preload/device_path.h"

namespace verbena::ibverbs {
namespace {

GidEntry Entry(const char* address, const char* interface, uint32_t mtu = 1'500) {
  return {.gid = *ParseGid(address),
          .interface_name = interface,
          .interface_index = 2,
          .mtu = mtu,
          .up = true};
}

DeviceFacts Facts(LinkLayer link_layer = LinkLayer::kRoce) {
  DeviceFacts facts;
  FillIdentity(TransportType::kRoce, facts.device);
  facts.gids = {Entry("10.0.0.1", "eth0"), std::nullopt, Entry("::1", "lo")};
  facts.link_layer = link_layer;
  facts.port = PortAttributes(facts.gids, link_layer);
  facts.processors = 4;
  facts.counters.port.packets_sent = 42;
  return facts;
}

class DeviceTreeTest : public ::testing::Test {
 protected:
  std::string Read(const std::string& path) const {
    const std::string* const text = tree_.Find(path);
    EXPECT_NE(text, nullptr) << path;
    return text != nullptr ? *text : "";
  }
  std::string OfPort(const std::string& file) const {
    return Read(std::string(TheDevice().ibdev_path) + "/ports/1/" + file);
  }

  DeviceTree tree_ = Describe(Facts());
};

// Every path that the ibv_device names exists.
TEST_F(DeviceTreeTest, HasThePathsOfTheDevice) {
  EXPECT_EQ(Read(std::string(TheDevice().ibdev_path) + "/node_type"), "1: CA\n");
  EXPECT_EQ(Read(std::string(TheDevice().dev_path) + "/ibdev"), "verbena0\n");
  EXPECT_EQ(Read(std::string(TheDevice().dev_path) + "/dev"), "231:192\n");
  EXPECT_EQ("/dev/infiniband/" + std::string(TheDevice().dev_name), preload::kDevicePath);
}

TEST_F(DeviceTreeTest, HasOnlyRedirectedPaths) {
  for (const DeviceFile& file : tree_.files) {
    EXPECT_EQ(preload::Classify(file.path.c_str()), preload::PathKind::kTree) << file.path;
    EXPECT_TRUE(file.text.ends_with('\n')) << file.path;
    EXPECT_EQ(std::ranges::count(tree_.files, file.path, &DeviceFile::path), 1) << file.path;
  }
  for (const DeviceLink& link : tree_.links) {
    EXPECT_NE(preload::Classify(link.path.c_str()), preload::PathKind::kOther) << link.path;
  }
}

TEST_F(DeviceTreeTest, FilesMatchTheVerbs) {
  const ibv_port_attr port = Facts().port;
  EXPECT_EQ(OfPort("state"), std::to_string(port.state) + ": ACTIVE\n");
  EXPECT_EQ(OfPort("phys_state"), "5: LinkUp\n");
  EXPECT_EQ(OfPort("rate"), "100 Gb/sec (4X EDR)\n");
  EXPECT_EQ(OfPort("link_layer"), "Ethernet\n");
  EXPECT_EQ(OfPort("lid"), "0x0\n");
  EXPECT_EQ(OfPort("pkeys/0"), "0xffff\n");
  EXPECT_EQ(OfPort("counters/port_xmit_packets"), "42\n");
  EXPECT_EQ(Read("/sys/class/infiniband/verbena0/fw_ver"), "0.1.0\n");
}

TEST_F(DeviceTreeTest, AnEmptyGidReadsAsZerosAndHasNoAttributes) {
  const std::string gids = "/sys/class/infiniband/verbena0/ports/1/";
  EXPECT_EQ(OfPort("gids/0"), "0000:0000:0000:0000:0000:ffff:0a00:0001\n");
  EXPECT_EQ(OfPort("gid_attrs/types/0"), "RoCE v2\n");
  EXPECT_EQ(OfPort("gid_attrs/ndevs/0"), "eth0\n");
  EXPECT_EQ(OfPort("gid_attrs/ndevs/2"), "lo\n");
  for (const char* const empty : {"1", "3", "15"}) {
    EXPECT_EQ(OfPort(std::string("gids/") + empty), "0000:0000:0000:0000:0000:0000:0000:0000\n");
    EXPECT_EQ(tree_.Find(gids + "gid_attrs/types/" + empty), nullptr);
    EXPECT_EQ(tree_.Find(gids + "gid_attrs/ndevs/" + empty), nullptr);
  }
  EXPECT_EQ(tree_.Find(gids + "gids/16"), nullptr) << "the table has 16 entries";
}

TEST_F(DeviceTreeTest, IsBelowAPciFunction) {
  for (const char* const folder :
       {"/sys/class/infiniband/verbena0/device", "/sys/class/infiniband_verbs/uverbs0/device",
        "/sys/bus/pci/devices/7665:00:00.0", "/sys/devices/pci7665:00/7665:00:00.0",
        "/sys/class/infiniband/verbena0/device/infiniband/verbena0/device"}) {
    EXPECT_EQ(Read(std::string(folder) + "/vendor"), "0xfeed\n") << folder;
    EXPECT_EQ(Read(std::string(folder) + "/numa_node"), "-1\n") << folder;
    EXPECT_EQ(Read(std::string(folder) + "/local_cpus"), "f\n") << folder;
    EXPECT_EQ(Read(std::string(folder) + "/infiniband/verbena0/node_desc"), "verbena0\n") << folder;
  }
}

TEST_F(DeviceTreeTest, FindsByTheNameOfAFileOnly) {
  EXPECT_NE(tree_.Find("//sys//class/infiniband/verbena0//fw_ver"), nullptr);
  EXPECT_EQ(tree_.Find("/sys/class/infiniband/verbena0"), nullptr);
  EXPECT_EQ(tree_.Find("/sys/class/infiniband/verbena0/device/../fw_ver"), nullptr);
  EXPECT_EQ(tree_.Find("/dev/infiniband/uverbs0"), nullptr);
  EXPECT_EQ(tree_.Find(""), nullptr);
}

TEST_F(DeviceTreeTest, CanReportInfiniband) {
  tree_ = Describe(Facts(LinkLayer::kInfiniband));
  EXPECT_EQ(OfPort("link_layer"), "InfiniBand\n");
  EXPECT_EQ(OfPort("lid"), "0x1\n");
  EXPECT_EQ(OfPort("sm_lid"), "0x1\n");
  EXPECT_EQ(OfPort("gid_attrs/types/0"), "IB/RoCE v1\n");
  EXPECT_EQ(tree_.Find("/sys/class/infiniband/verbena0/ports/1/gid_attrs/ndevs/0"), nullptr);
  EXPECT_EQ(Read("/sys/class/infiniband/verbena0/device/class"), "0x020700\n");
}

}  // namespace
}  // namespace verbena::ibverbs
