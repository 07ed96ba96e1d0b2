#include "ibverbs/query/device_tree_source.h"

#include <infiniband/verbs.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "ibverbs/objects/address_vector.h"
#include "ibverbs/query/device.h"
#include "ibverbs/query/device_text.h"
#include "tests/support/ibverbs_end.h"

extern "C" {
int verbena_write_device_files(char* out, size_t size);
int ibv_read_sysfs_file(const char* directory, const char* file, char* out, size_t size);
}

namespace verbena::ibverbs {
namespace {

std::string OfPort(const std::string& file) {
  const auto text = ReadDeviceFile(std::string(TheDevice().ibdev_path) + "/ports/1/" + file);
  EXPECT_TRUE(text.has_value()) << file;
  return text.value_or("");
}

TEST(DeviceTreeSourceTest, EveryGidFileMatchesTheVerbs) {
  testing::VerbsEnd end;
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(end.context, 1, &port), 0);
  for (int i = 0; i < port.gid_tbl_len; ++i) {
    ibv_gid gid{};
    ASSERT_EQ(ibv_query_gid(end.context, 1, i, &gid), 0);
    EXPECT_EQ(OfPort("gids/" + std::to_string(i)), GidText(FromVerbs(gid)) + "\n");
  }
}

class DeviceCounterFilesTest : public testing::VerbsPairTest {
 protected:
  static uint64_t Sent() { return std::stoull(OfPort("counters/port_xmit_packets")); }
};

TEST_F(DeviceCounterFilesTest, CountersAreThoseOfThisProcess) {
  Connect();
  const uint64_t before = Sent();
  ibv_sge sge = a.Sge(0, 8);
  ibv_send_wr wr = Request(IBV_WR_RDMA_WRITE, &sge);
  ASSERT_EQ(a.Post(qa, wr), 0);
  ASSERT_EQ(a.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_GT(Sent(), before);
}

TEST_F(DeviceCounterFilesTest, CountersOfAClosedDeviceAreKept) {
  const uint64_t before = Sent();
  {
    testing::VerbsEnd end;
    ibv_qp* const qp = end.MakeQp({.type = IBV_QPT_UC});
    end.Start(qp, qp->qp_num);
    ibv_sge sge = end.Sge(0, 8);
    ibv_send_wr wr = Request(IBV_WR_RDMA_WRITE, &sge);
    ASSERT_EQ(end.Post(qp, wr), 0);
    ASSERT_EQ(end.WaitStatus(), IBV_WC_SUCCESS);
  }
  EXPECT_GT(Sent(), before);
}

TEST(DeviceTreeSourceTest, OtherPathsAreNotFound) {
  EXPECT_FALSE(ReadDeviceFile("/etc/hostname").has_value());
  EXPECT_FALSE(ReadDeviceFile("/sys/class/infiniband/mlx5_0/node_type").has_value());
  EXPECT_FALSE(ReadDeviceFile("/sys/class/infiniband").has_value());
}

TEST(DeviceTreeSourceTest, IbvReadSysfsFileNeedsNoRedirection) {
  std::array<char, 64> out{};
  EXPECT_EQ(ibv_read_sysfs_file(TheDevice().dev_path, "ibdev", out.data(), out.size()), 8);
  EXPECT_STREQ(out.data(), "verbena0");
  EXPECT_EQ(ibv_read_sysfs_file(TheDevice().ibdev_path, "no_such", out.data(), out.size()), -1);
}

TEST(DeviceTreeSourceTest, WritesThemForProgramsWithoutTheLibrary) {
  std::string folder = ::testing::TempDir() + "/verbena-files-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  setenv("XDG_RUNTIME_DIR", folder.c_str(), 1);
  std::array<char, 512> out{};
  EXPECT_EQ(verbena_write_device_files(out.data(), out.size()), 0) << out.data();
  std::string text;
  std::getline(std::ifstream(std::string(out.data()) + TheDevice().ibdev_path + "/node_type"),
               text);
  EXPECT_EQ(text, "1: CA");
  std::getline(std::ifstream(std::string(out.data()) + TheDevice().ibdev_path +
                             "/ports/1/counters/port_xmit_packets"),
               text);
  EXPECT_EQ(text, "0") << "of no device";
  EXPECT_NE(verbena_write_device_files(out.data(), 8), 0) << "the path does not fit";
  unsetenv("XDG_RUNTIME_DIR");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace verbena::ibverbs
