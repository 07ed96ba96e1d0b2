#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::testing {

// The attributes of a queue pair, for designated initializers: VerbsQp{.type = IBV_QPT_UD}.
struct VerbsQp {
  ibv_qp_type type = IBV_QPT_RC;
  ibv_srq* srq = nullptr;
  uint32_t depth = 64;
  uint32_t sges = 4;
  uint32_t inline_bytes = 64;
  int sq_sig_all = 0;
  uint64_t send_ops = 0;  // IBV_QP_EX_WITH_*: for use with ibv_wr_start
};

// A program on the verbs: an open device with a protection domain, a completion queue and
// registered bytes, used as programs use them. Two VerbsEnds in one process are two adapters that
// talk to each other.
//
// The destructor destroys all that the object made; the test fails if a destroy call fails.
class VerbsEnd {
 public:
  static constexpr size_t kBytes = 64 * 1024;
  static constexpr int kCqDepth = 256;
  static constexpr uint32_t kQKey = 0x11111111;

  VerbsEnd() {
    int count = 0;
    ibv_device** const list = ibv_get_device_list(&count);
    if (count > 0) context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    if (context == nullptr) {
      ADD_FAILURE() << "no device could be opened";
      std::abort();
    }
    channel = ibv_create_comp_channel(context);
    pd = ibv_alloc_pd(context);
    cq = ibv_create_cq(context, kCqDepth, this, channel, 0);
    mr = ibv_reg_mr(pd, bytes.data(), bytes.size(),
                    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                        IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND);
  }
  VerbsEnd(const VerbsEnd&) = delete;
  VerbsEnd& operator=(const VerbsEnd&) = delete;
  ~VerbsEnd() {
    for (ibv_qp* const qp : qps_) EXPECT_EQ(ibv_destroy_qp(qp), 0);
    for (ibv_ah* const ah : ahs_) EXPECT_EQ(ibv_destroy_ah(ah), 0);
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
    EXPECT_EQ(ibv_destroy_cq(cq), 0);
    EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
    EXPECT_EQ(ibv_dealloc_pd(pd), 0);
    EXPECT_EQ(ibv_close_device(context), 0);
  }

  // Null on failure, with errno set. This object destroys the queue pair.
  ibv_qp* TryMakeQp(const VerbsQp& wish = {}) {
    ibv_qp_init_attr_ex attributes{};
    attributes.send_cq = attributes.recv_cq = cq;
    attributes.srq = wish.srq;
    attributes.cap = {.max_send_wr = wish.depth,
                      .max_recv_wr = wish.depth,
                      .max_send_sge = wish.sges,
                      .max_recv_sge = wish.sges,
                      .max_inline_data = wish.inline_bytes};
    attributes.qp_type = wish.type;
    attributes.sq_sig_all = wish.sq_sig_all;
    attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
    attributes.pd = pd;
    if (wish.send_ops != 0) attributes.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attributes.send_ops_flags = wish.send_ops;
    ibv_qp* const qp = ibv_create_qp_ex(context, &attributes);
    if (qp != nullptr) qps_.push_back(qp);
    return qp;
  }
  ibv_qp* MakeQp(const VerbsQp& wish = {}) {
    ibv_qp* const qp = TryMakeQp(wish);
    EXPECT_NE(qp, nullptr);
    return qp;
  }
  // Destroys a queue pair before this object ends.
  int EndQp(ibv_qp* qp) {
    std::erase(qps_, qp);
    return ibv_destroy_qp(qp);
  }

  // The route to 127.0.0.1, with its index in the GID table.
  [[nodiscard]] ibv_global_route Loopback() const {
    ibv_gid loopback{};
    loopback.raw[10] = loopback.raw[11] = 0xFF;
    loopback.raw[12] = 127;
    loopback.raw[15] = 1;
    ibv_gid gid{};
    for (int i = 0; ibv_query_gid(context, 1, i, &gid) == 0; ++i) {
      if (std::memcmp(&gid, &loopback, sizeof gid) == 0) {
        return {.dgid = gid,
                .flow_label = 0,
                .sgid_index = static_cast<uint8_t>(i),
                .hop_limit = 64,
                .traffic_class = 0};
      }
    }
    ADD_FAILURE() << "127.0.0.1 is not in the GID table";
    return {};
  }
  [[nodiscard]] ibv_ah_attr LoopbackWay() const {
    ibv_ah_attr way{};
    way.grh = Loopback();
    way.is_global = 1;
    way.port_num = 1;
    return way;
  }
  ibv_ah* MakeAh() {
    ibv_ah_attr way = LoopbackWay();
    ahs_.push_back(ibv_create_ah(pd, &way));
    EXPECT_NE(ahs_.back(), nullptr);
    return ahs_.back();
  }

  int ToInit(ibv_qp* qp) const {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    attributes.qkey = kQKey;
    attributes.qp_access_flags =
        IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    const int last = qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
    return ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | last);
  }
  int ToRtr(ibv_qp* qp, uint32_t peer) const {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = IBV_MTU_1024;
    attributes.dest_qp_num = peer;
    attributes.max_dest_rd_atomic = 4;
    attributes.min_rnr_timer = 12;
    attributes.ah_attr = LoopbackWay();
    int mask = IBV_QP_STATE;
    if (qp->qp_type != IBV_QPT_UD) {
      mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    }
    if (qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_RECV) {
      mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    }
    return ibv_modify_qp(qp, &attributes, mask);
  }
  static int ToRts(ibv_qp* qp) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.timeout = 14;
    attributes.retry_cnt = 7;
    attributes.rnr_retry = 7;
    attributes.max_rd_atomic = 4;
    int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_SEND) {
      mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    }
    return ibv_modify_qp(qp, &attributes, mask);
  }
  static int ToState(ibv_qp* qp, ibv_qp_state state) {
    ibv_qp_attr attributes{};
    attributes.qp_state = state;
    return ibv_modify_qp(qp, &attributes, IBV_QP_STATE);
  }
  void Start(ibv_qp* qp, uint32_t peer) const {
    ASSERT_EQ(ToInit(qp), 0);
    ASSERT_EQ(ToRtr(qp, peer), 0);
    ASSERT_EQ(ToRts(qp), 0);
  }

  // An SGE in the registered bytes.
  [[nodiscard]] ibv_sge Sge(size_t offset, uint32_t length) const {
    return {.addr = reinterpret_cast<uint64_t>(bytes.data()) + offset,
            .length = length,
            .lkey = mr->lkey};
  }
  void Fill(size_t offset, const char* text) {
    std::memcpy(bytes.data() + offset, text, std::strlen(text));
  }
  [[nodiscard]] std::string Text(size_t offset, size_t length) const {
    return {reinterpret_cast<const char*>(bytes.data()) + offset, length};
  }

  static int Post(ibv_qp* qp, ibv_send_wr& wr) {
    ibv_send_wr* refused = nullptr;
    return ibv_post_send(qp, &wr, &refused);
  }
  int Receive(ibv_qp* qp, size_t offset, uint32_t length, uint64_t id = 0) const {
    ibv_sge sge = Sge(offset, length);
    ibv_recv_wr wr{.wr_id = id, .next = nullptr, .sg_list = &sge, .num_sge = 1};
    ibv_recv_wr* refused = nullptr;
    return ibv_post_recv(qp, &wr, &refused);
  }

  // The next completion; nullopt if none comes in time.
  [[nodiscard]] std::optional<ibv_wc> Wait(
      std::chrono::milliseconds most = std::chrono::milliseconds(5'000)) const {
    const auto end = std::chrono::steady_clock::now() + most;
    ibv_wc wc{};
    do {
      const int found = ibv_poll_cq(cq, 1, &wc);
      if (found < 0) return std::nullopt;
      if (found == 1) return wc;
    } while (std::chrono::steady_clock::now() < end);
    return std::nullopt;
  }
  // The status of the next completion; -1 if there was none.
  [[nodiscard]] int WaitStatus() const {
    const auto wc = Wait();
    return wc ? static_cast<int>(wc->status) : -1;
  }

  ibv_context* context = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_pd* pd = nullptr;
  ibv_cq* cq = nullptr;
  ibv_mr* mr = nullptr;
  alignas(4096) std::array<std::byte, kBytes> bytes{};

 private:
  std::vector<ibv_qp*> qps_;
  std::vector<ibv_ah*> ahs_;
};

// Two VerbsEnds, with a connection between them.
class VerbsPairTest : public ::testing::Test {
 protected:
  void Connect(const VerbsQp& wish = {}) {
    qa = a.MakeQp(wish);
    qb = b.MakeQp(wish);
    a.Start(qa, qb->qp_num);
    b.Start(qb, qa->qp_num);
  }
  // A request from a to b. Its remote address is the start of b's bytes.
  [[nodiscard]] ibv_send_wr Request(ibv_wr_opcode opcode, ibv_sge* sge, uint64_t id = 1) const {
    ibv_send_wr wr{};
    wr.wr_id = id;
    wr.sg_list = sge;
    wr.num_sge = sge != nullptr ? 1 : 0;
    wr.opcode = opcode;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma.remote_addr = reinterpret_cast<uint64_t>(b.bytes.data());
    wr.wr.rdma.rkey = b.mr->rkey;
    return wr;
  }

  VerbsEnd a;
  VerbsEnd b;
  ibv_qp* qa = nullptr;
  ibv_qp* qb = nullptr;
};

}  // namespace verbena::testing
