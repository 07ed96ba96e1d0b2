#include <infiniband/verbs.h>

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace verbena::ibverbs {
namespace {

TEST(StringsTest, EveryValueHasItsOwnText) {
  std::set<std::string> words;
  for (int i = IBV_EVENT_CQ_ERR; i <= IBV_EVENT_WQ_FATAL; ++i) {
    words.insert(ibv_event_type_str(static_cast<ibv_event_type>(i)));
  }
  EXPECT_EQ(words.size(), 20U);
  words.clear();
  for (int i = IBV_WC_SUCCESS; i <= IBV_WC_TM_RNDV_INCOMPLETE; ++i) {
    words.insert(ibv_wc_status_str(static_cast<ibv_wc_status>(i)));
  }
  EXPECT_EQ(words.size(), 24U);
  words.clear();
  for (int i = IBV_PORT_NOP; i <= IBV_PORT_ACTIVE_DEFER; ++i) {
    words.insert(ibv_port_state_str(static_cast<ibv_port_state>(i)));
  }
  for (int i = IBV_NODE_CA; i <= IBV_NODE_UNSPECIFIED; ++i) {
    words.insert(ibv_node_type_str(static_cast<ibv_node_type>(i)));
  }
  EXPECT_EQ(words.size(), 13U);
  EXPECT_FALSE(words.contains("unknown"));
}

TEST(StringsTest, TheLastValueOfEachEnumerationHasItsText) {
  EXPECT_STREQ(ibv_event_type_str(IBV_EVENT_QP_LAST_WQE_REACHED), "last WQE reached");
  EXPECT_STREQ(ibv_event_type_str(IBV_EVENT_GID_CHANGE), "GID table change");
  EXPECT_STREQ(ibv_wc_status_str(IBV_WC_RNR_RETRY_EXC_ERR), "RNR retry counter exceeded");
  EXPECT_STREQ(ibv_wc_status_str(IBV_WC_GENERAL_ERR), "general error");
  EXPECT_STREQ(ibv_port_state_str(IBV_PORT_ACTIVE), "PORT_ACTIVE");
  EXPECT_STREQ(ibv_node_type_str(IBV_NODE_CA), "InfiniBand channel adapter");
}

TEST(StringsTest, AnUnknownValueIsUnknown) {
  EXPECT_STREQ(ibv_event_type_str(static_cast<ibv_event_type>(20)), "unknown");
  EXPECT_STREQ(ibv_wc_status_str(static_cast<ibv_wc_status>(24)), "unknown");
  EXPECT_STREQ(ibv_port_state_str(static_cast<ibv_port_state>(6)), "unknown");
  EXPECT_STREQ(ibv_node_type_str(IBV_NODE_UNKNOWN), "unknown");
}

}  // namespace
}  // namespace verbena::ibverbs
