#include <infiniband/tm_types.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include <gtest/gtest.h>

#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

constexpr uint64_t kTag = 0x1234;
constexpr size_t kTagged = 8'192;  // offset of the tagged receive of b
constexpr size_t kUntagged = 16'384;
constexpr size_t kNote = 24'576;  // offset at a of the message that its bytes were read
constexpr auto kSoon = std::chrono::seconds(5);

// b receives on a tag matching SRQ, and polls its completions with ibv_start_poll.
class TagOperationsTest : public testing::VerbsPairTest {
 protected:
  TagOperationsTest() {
    ibv_cq_init_attr_ex cq_wish{};
    cq_wish.cqe = 64;
    cq_wish.wc_flags = uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_TM_INFO;
    cq_ = ibv_create_cq_ex(b.context, &cq_wish);
    ibv_srq_init_attr_ex wish = Wish();
    srq_ = ibv_create_srq_ex(b.context, &wish);
    qb = b.MakeQp({.srq = srq_, .depth = 0, .sges = 0, .inline_bytes = 0});
    qa = a.MakeQp();
    a.Start(qa, qb->qp_num);
    b.Start(qb, qa->qp_num);
  }
  ~TagOperationsTest() override {
    EXPECT_EQ(b.EndQp(qb), 0);
    EXPECT_EQ(ibv_destroy_srq(srq_), 0);
    EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq_)), 0);
  }

  ibv_srq_init_attr_ex Wish() const {
    ibv_srq_init_attr_ex wish{};
    wish.attr = {.max_wr = 16, .max_sge = 1, .srq_limit = 0};
    wish.comp_mask =
        IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM;
    wish.srq_type = IBV_SRQT_TM;
    wish.pd = b.pd;
    wish.cq = ibv_cq_ex_to_cq(cq_);
    wish.tm_cap = {.max_num_tags = 2, .max_ops = 4};
    return wish;
  }

  int Do(ibv_ops_wr& operation) {
    ibv_ops_wr* refused = nullptr;
    const int error = ibv_post_srq_ops(srq_, &operation, &refused);
    EXPECT_EQ(refused, error != 0 ? &operation : nullptr);
    return error;
  }
  ibv_ops_wr Operation(ibv_ops_wr_opcode opcode, uint64_t id) {
    ibv_ops_wr operation{};
    operation.wr_id = id;
    operation.opcode = opcode;
    operation.flags = IBV_OPS_SIGNALED;
    return operation;
  }
  // Adds a tagged receive for kTag as request `id`, and polls the completion of the add.
  uint32_t Add(uint64_t id) {
    ibv_ops_wr add = Operation(IBV_WR_TAG_ADD, id);
    ibv_sge sge = b.Sge(kTagged, 4'096);
    add.tm.add = {.recv_wr_id = id, .sg_list = &sge, .num_sge = 1, .tag = kTag, .mask = UINT64_MAX};
    EXPECT_EQ(Do(add), 0);
    EXPECT_EQ(Next()->opcode, IBV_WC_TM_ADD);
    return add.tm.handle;
  }
  void ReceiveUntagged(uint64_t id) {
    ibv_sge sge = b.Sge(kUntagged, 4'096);
    ibv_recv_wr wr{.wr_id = id, .next = nullptr, .sg_list = &sge, .num_sge = 1};
    ibv_recv_wr* refused = nullptr;
    EXPECT_EQ(ibv_post_srq_recv(srq_, &wr, &refused), 0);
  }
  void Send(ibv_tmh_op operation, uint32_t length) {
    const ibv_tmh header{.opcode = static_cast<uint8_t>(operation),
                         .reserved = {},
                         .app_ctx = __builtin_bswap32(77),
                         .tag = __builtin_bswap64(kTag)};
    std::memcpy(a.bytes.data(), &header, sizeof header);
    ibv_sge sge = a.Sge(0, length);
    ibv_send_wr wr = Request(IBV_WR_SEND, &sge);
    EXPECT_EQ(a.Post(qa, wr), 0);
    EXPECT_EQ(a.WaitStatus(), IBV_WC_SUCCESS);
  }

  struct TagCompletion {
    ibv_wc_status status;
    uint64_t id;
    ibv_wc_opcode opcode;
    unsigned flags;
    uint32_t length;
    ibv_wc_tm_info info;
  };
  std::optional<TagCompletion> Next() {
    const auto end = std::chrono::steady_clock::now() + kSoon;
    ibv_poll_cq_attr nothing{};
    while (ibv_start_poll(cq_, &nothing) != 0) {
      if (std::chrono::steady_clock::now() > end) return std::nullopt;
    }
    TagCompletion done{.status = cq_->status,
                       .id = cq_->wr_id,
                       .opcode = ibv_wc_read_opcode(cq_),
                       .flags = ibv_wc_read_wc_flags(cq_),
                       .length = ibv_wc_read_byte_len(cq_),
                       .info = {}};
    ibv_wc_read_tm_info(cq_, &done.info);
    ibv_end_poll(cq_);
    return done;
  }

  ibv_cq_ex* cq_ = nullptr;
  ibv_srq* srq_ = nullptr;
};

TEST_F(TagOperationsTest, TheDeviceReportsTagMatching) {
  ibv_device_attr_ex attributes{};
  ASSERT_EQ(ibv_query_device_ex(a.context, nullptr, &attributes), 0);
  EXPECT_EQ(attributes.tm_caps.flags, uint32_t{IBV_TM_CAP_RC});
  EXPECT_GT(attributes.tm_caps.max_num_tags, 0u);
  EXPECT_GE(attributes.tm_caps.max_rndv_hdr_size, sizeof(ibv_tmh) + sizeof(ibv_rvh));
}

TEST_F(TagOperationsTest, AMatchedMessageArrivesWithoutItsHeader) {
  Add(5);
  a.Fill(sizeof(ibv_tmh), "hello");
  Send(IBV_TMH_EAGER, sizeof(ibv_tmh) + 5);
  const auto done = Next();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->status, IBV_WC_SUCCESS);
  EXPECT_EQ(done->id, 5u);
  EXPECT_EQ(done->opcode, IBV_WC_TM_RECV);
  EXPECT_EQ(done->flags, unsigned{IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID});
  EXPECT_EQ(done->length, 5u);
  EXPECT_EQ(done->info.tag, kTag);
  EXPECT_EQ(done->info.priv, 77u);
  EXPECT_EQ(b.Text(kTagged, 5), "hello");
}

TEST_F(TagOperationsTest, AnUnexpectedMessageHoldsLaterReceives) {
  ReceiveUntagged(6);
  Send(IBV_TMH_EAGER, 100);
  EXPECT_EQ(Next()->opcode, IBV_WC_TM_RECV);
  ibv_ops_wr add = Operation(IBV_WR_TAG_ADD, 7);
  add.tm.add.mask = UINT64_MAX;
  EXPECT_EQ(Do(add), 0);
  EXPECT_EQ(Next()->flags, unsigned{IBV_WC_TM_SYNC_REQ});
  ibv_ops_wr sync = Operation(IBV_WR_TAG_SYNC, 8);
  sync.flags |= IBV_OPS_TM_SYNC;
  sync.tm.unexpected_cnt = 1;
  EXPECT_EQ(Do(sync), 0);
  const auto done = Next();
  EXPECT_EQ(done->opcode, IBV_WC_TM_SYNC);
  EXPECT_EQ(done->flags, 0u);
}

TEST_F(TagOperationsTest, ARendezvousIsReadWithoutSendsOfTheProgram) {
  Add(5);
  const ibv_rvh data{.va = __builtin_bswap64(reinterpret_cast<uint64_t>(a.bytes.data()) + 4'096),
                     .rkey = __builtin_bswap32(a.mr->rkey),
                     .len = __builtin_bswap32(3'000)};
  std::memcpy(a.bytes.data() + sizeof(ibv_tmh), &data, sizeof data);
  a.Fill(4'096, "far away");
  ASSERT_EQ(a.Receive(qa, kNote, 100, 9), 0);
  Send(IBV_TMH_RNDV, sizeof(ibv_tmh) + sizeof(ibv_rvh));
  const auto matched = Next();
  EXPECT_EQ(matched->flags, unsigned{IBV_WC_TM_MATCH});
  EXPECT_EQ(matched->info.tag, kTag);
  const auto read = Next();
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->id, 5u);
  EXPECT_EQ(read->opcode, IBV_WC_TM_RECV);
  EXPECT_EQ(read->flags, unsigned{IBV_WC_TM_DATA_VALID});
  EXPECT_EQ(read->length, 3'000u);
  EXPECT_EQ(b.Text(kTagged, 8), "far away");
  const auto finished = a.Wait();
  ASSERT_TRUE(finished.has_value());
  EXPECT_EQ(finished->wr_id, 9u);
  EXPECT_EQ(finished->byte_len, sizeof(ibv_tmh));
  EXPECT_EQ(static_cast<uint8_t>(a.bytes[kNote]), IBV_TMH_FIN);
}

TEST_F(TagOperationsTest, ATakenReceiveCannotBeRemoved) {
  ibv_ops_wr remove = Operation(IBV_WR_TAG_DEL, 2);
  remove.tm.handle = Add(1);
  EXPECT_EQ(Do(remove), 0);
  EXPECT_EQ(Next()->status, IBV_WC_SUCCESS);
  EXPECT_EQ(Do(remove), 0);
  const auto done = Next();
  EXPECT_EQ(done->status, IBV_WC_TM_ERR);
  EXPECT_EQ(done->id, 2u);
}

TEST_F(TagOperationsTest, InvalidOperationsAreRefused) {
  ibv_ops_wr wrong = Operation(static_cast<ibv_ops_wr_opcode>(3), 1);
  EXPECT_EQ(Do(wrong), EINVAL);
  wrong = Operation(IBV_WR_TAG_SYNC, 1);
  wrong.flags = 1 << 5;
  EXPECT_EQ(Do(wrong), EINVAL);
  wrong = Operation(IBV_WR_TAG_ADD, 1);
  wrong.tm.add.num_sge = -1;
  EXPECT_EQ(Do(wrong), EINVAL);
  Add(1);
  Add(2);
  ibv_ops_wr third = Operation(IBV_WR_TAG_ADD, 3);
  EXPECT_EQ(Do(third), ENOMEM);
}

TEST_F(TagOperationsTest, AQueueWithoutTagsIsRefused) {
  ibv_srq_init_attr_ex wish = Wish();
  wish.tm_cap.max_num_tags = 0;
  EXPECT_EQ(ibv_create_srq_ex(b.context, &wish), nullptr);
  EXPECT_EQ(errno, EINVAL);
  wish = Wish();
  wish.comp_mask &= ~uint32_t{IBV_SRQ_INIT_ATTR_CQ};
  EXPECT_EQ(ibv_create_srq_ex(b.context, &wish), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(b.TryMakeQp({.type = IBV_QPT_UD, .srq = srq_}), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace verbena::ibverbs
