#include "ibverbs/objects/address_vector.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "ibverbs/query/device.h"

namespace verbena::ibverbs {
namespace {

class AddressVectorTest : public ::testing::Test {
 protected:
  void TearDown() override {
    unsetenv("VERBENA_LINK_LAYER");
    if (context_ != nullptr) {
      EXPECT_EQ(ibv_close_device(context_), 0);
    }
  }

  Context& Open(const char* link_layer) {
    setenv("VERBENA_LINK_LAYER", link_layer, 1);
    context_ = ibv_open_device(&TheDevice());
    return Cast(context_);
  }
  static uint8_t IndexOf(Context& context, const Gid& gid) {
    const auto entries = context.gids.Read();
    for (size_t i = 0; i < entries->size(); ++i) {
      if ((*entries)[i] && (*entries)[i]->gid == gid) return static_cast<uint8_t>(i);
    }
    ADD_FAILURE() << "this machine has no " << ToString(gid);
    return 0;
  }

  ibv_context* context_ = nullptr;
};

TEST_F(AddressVectorTest, AGidSurvivesARoundTrip) {
  const Gid gid = *ParseGid("fd00::1:2");
  EXPECT_EQ(FromVerbs(ToVerbs(gid)), gid);
  EXPECT_EQ(ToVerbs(gid).raw[0], 0xFD);
}

TEST_F(AddressVectorTest, AnAddressSurvivesARoundTrip) {
  Context& context = Open("roce");
  ibv_ah_attr path{};
  path.port_num = 1;
  path.is_global = 1;
  path.grh.dgid = ToVerbs(*ParseGid("127.0.0.1"));
  path.grh.sgid_index = IndexOf(context, *ParseGid("127.0.0.1"));
  path.grh.hop_limit = 9;
  path.grh.traffic_class = 0x20;
  const auto vector = AddressVectorOf(context, path);
  ASSERT_TRUE(vector.has_value());
  EXPECT_EQ(vector->source, *ParseGid("127.0.0.1"));
  EXPECT_EQ(vector->interface, 0U);
  const ibv_ah_attr back = *AttributesOf(context, *vector);
  EXPECT_EQ(back.grh.sgid_index, path.grh.sgid_index);
  EXPECT_EQ(FromVerbs(back.grh.dgid), *ParseGid("127.0.0.1"));
  EXPECT_EQ(back.grh.hop_limit, 9);
  EXPECT_EQ(back.grh.traffic_class, 0x20);
  EXPECT_EQ(back.port_num, 1);
  EXPECT_EQ(back.is_global, 1);
}

TEST_F(AddressVectorTest, LidsAreForInfinibandOnly) {
  ibv_ah_attr path{};
  path.port_num = 1;
  path.dlid = 0x0102;
  EXPECT_FALSE(AddressVectorOf(Open("roce"), path).has_value());
  EXPECT_EQ(ibv_close_device(context_), 0);
  const auto vector = AddressVectorOf(Open("ib"), path);
  ASSERT_TRUE(vector.has_value());
  EXPECT_EQ(vector->destination.bytes[14], 1);
  EXPECT_EQ(vector->destination.bytes[15], 2);
  EXPECT_EQ(vector->destination.bytes[12], vector->source.bytes[12]);
  EXPECT_EQ(AttributesOf(Cast(context_), *vector)->dlid, 0x0102);
  path.dlid = 0;
  EXPECT_FALSE(AddressVectorOf(Cast(context_), path).has_value());
}

TEST_F(AddressVectorTest, ThereIsOnePort) {
  ibv_ah_attr path{};
  path.port_num = 2;
  path.is_global = 1;
  const auto vector = AddressVectorOf(Open("roce"), path);
  ASSERT_FALSE(vector.has_value());
  EXPECT_EQ(vector.error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace verbena::ibverbs
