#pragma once

#include <fcntl.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/cm_end.h"

namespace verbena::survival {

// The result of a call: 0, or the error number; -1 if it failed in a way that its man page does not
// document.
struct Outcome {
  int error = 0;

  [[nodiscard]] bool ok() const { return error == 0; }
};

// The ways in which verbs report a failure.
[[nodiscard]] inline Outcome ByNull(const void* made) { return {made != nullptr ? 0 : errno}; }
[[nodiscard]] inline Outcome ByNumber(int result) { return {result}; }
[[nodiscard]] inline Outcome ByMinusOne(int result) {
  return {result >= 0 ? 0 : result == -1 ? errno : -1};
}
[[nodiscard]] inline Outcome ByNegative(ssize_t result) {
  return {result >= 0 ? 0 : static_cast<int>(-result)};
}

// A program on the verbs. Each injected failure gets a new World, so that an earlier one leaves
// nothing behind. The destructor destroys the objects in reverse order; the test fails if that
// fails.
class World {
 public:
  World() {
    ibv_device** const list = ibv_get_device_list(nullptr);
    device = list[0];
    ibv_free_device_list(list);
    context = ibv_open_device(device);
    if (context == nullptr) {
      ADD_FAILURE() << "no device could be opened";
      std::abort();
    }
    AtEnd([this] { return is_closed ? 0 : ibv_close_device(context); });
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() {
    while (!ends_.empty()) {
      EXPECT_EQ(ends_.back()(), 0);
      ends_.pop_back();
    }
  }

  void AtEnd(std::function<int()> end) { ends_.push_back(std::move(end)); }

  // Objects that rows need; each is made by the first call. Qp makes a new one each time.
  ibv_pd* Pd() {
    if (pd_ == nullptr) {
      pd_ = ibv_alloc_pd(context);
      AtEnd([this] { return ibv_dealloc_pd(pd_); });
    }
    return pd_;
  }
  ibv_comp_channel* Channel() {
    if (channel_ == nullptr) {
      channel_ = ibv_create_comp_channel(context);
      AtEnd([this] { return ibv_destroy_comp_channel(channel_); });
    }
    return channel_;
  }
  ibv_cq* Cq() {
    if (cq_ == nullptr) {
      cq_ = ibv_create_cq(context, 64, nullptr, Channel(), 0);
      AtEnd([this] { return ibv_destroy_cq(cq_); });
    }
    return cq_;
  }
  ibv_mr* Mr() {
    if (mr_ == nullptr) {
      mr_ = (ibv_reg_mr)(Pd(), bytes, sizeof bytes, kAccess);
      AtEnd([this] { return ibv_dereg_mr(mr_); });
    }
    return mr_;
  }
  ibv_srq* Srq() {
    if (srq_ == nullptr) {
      ibv_srq_init_attr attributes{nullptr, {16, 1, 0}};
      srq_ = ibv_create_srq(Pd(), &attributes);
      AtEnd([this] { return ibv_destroy_srq(srq_); });
    }
    return srq_;
  }
  ibv_xrcd* Xrcd() {
    if (xrcd_ == nullptr) {
      ibv_xrcd_init_attr attributes{IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, -1, O_CREAT};
      xrcd_ = ibv_open_xrcd(context, &attributes);
      AtEnd([this] { return ibv_close_xrcd(xrcd_); });
    }
    return xrcd_;
  }
  ibv_qp* Qp(ibv_qp_type type = IBV_QPT_RC) {
    ibv_qp* const qp = ibv_create_qp(Pd(), With(QpWish(type)));
    EXPECT_NE(qp, nullptr);
    AtEnd([qp] { return ibv_destroy_qp(qp); });
    return qp;
  }

  testing::CmEnd& Cm() {
    if (cm_ == nullptr) {
      cm_ = std::make_unique<testing::CmEnd>();
      AtEnd([this] {
        cm_.reset();
        return 0;
      });
    }
    return *cm_;
  }

  // What the row's own call has made; the row destroys it.
  void* made = nullptr;
  void* bytes_of_buffer = nullptr;  // of ibv_alloc_buf
  template <class T>
  [[nodiscard]] T* Made() const {
    return static_cast<T*>(made);
  }
  ibv_qp* qp = nullptr;  // of rows that need one

  ibv_qp_init_attr QpWish(ibv_qp_type type) {
    ibv_qp_init_attr wish{};
    wish.send_cq = wish.recv_cq = Cq();
    wish.qp_type = type;
    wish.cap = {16, 16, 2, 2, 32};
    return wish;
  }
  ibv_qp_init_attr_ex QpWishEx(ibv_qp_type type) {
    const ibv_qp_init_attr plain = QpWish(type);
    ibv_qp_init_attr_ex wish{};
    wish.send_cq = wish.recv_cq = plain.send_cq;
    wish.qp_type = type;
    wish.cap = plain.cap;
    wish.comp_mask = IBV_QP_INIT_ATTR_PD;
    wish.pd = Pd();
    return wish;
  }
  // A pointer to a copy of `value`, valid until the next call for the same type.
  template <class T>
  T* With(const T& value) {
    static thread_local T kept;
    kept = value;
    return &kept;
  }

  [[nodiscard]] ibv_ah_attr Loopback() const {
    ibv_ah_attr way{};
    way.is_global = 1;
    way.port_num = 1;
    way.grh.hop_limit = 64;
    ibv_gid gid{};
    for (int i = 0; ibv_query_gid(context, 1, i, &gid) == 0; ++i) {
      const bool is_loopback = gid.raw[11] == 0xFF && gid.raw[12] == 127;
      if (!is_loopback) continue;
      way.grh.sgid_index = static_cast<uint8_t>(i);
      way.grh.dgid = gid;
      return way;
    }
    ADD_FAILURE() << "127.0.0.1 is not in the GID table";
    return way;
  }

  int ToInit(ibv_qp* which) const {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    attributes.qkey = kQKey;
    attributes.qp_access_flags = kAccess & ~IBV_ACCESS_MW_BIND & ~IBV_ACCESS_LOCAL_WRITE;
    const int last = which->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
    return ibv_modify_qp(which, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | last);
  }
  int ToRtr(ibv_qp* which, uint32_t peer) const {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = IBV_MTU_1024;
    attributes.dest_qp_num = peer;
    attributes.max_dest_rd_atomic = 4;
    attributes.min_rnr_timer = 1;
    attributes.ah_attr = Loopback();
    int mask = IBV_QP_STATE;
    if (which->qp_type != IBV_QPT_UD) {
      mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    }
    if (which->qp_type == IBV_QPT_RC) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    return ibv_modify_qp(which, &attributes, mask);
  }
  static int ToRts(ibv_qp* which) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.timeout = 10;
    attributes.retry_cnt = 7;
    attributes.rnr_retry = 7;
    attributes.max_rd_atomic = 4;
    int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (which->qp_type == IBV_QPT_RC) {
      mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    }
    return ibv_modify_qp(which, &attributes, mask);
  }
  void Connect(ibv_qp* which, uint32_t peer) const {
    EXPECT_EQ(ToInit(which), 0);
    EXPECT_EQ(ToRtr(which, peer), 0);
    EXPECT_EQ(ToRts(which), 0);
  }

  static constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                                 IBV_ACCESS_MW_BIND;
  static constexpr uint32_t kQKey = 0x1234;

  ibv_device* device = nullptr;
  ibv_context* context = nullptr;
  bool is_closed = false;
  alignas(4096) std::byte bytes[8192] = {};

 private:
  ibv_pd* pd_ = nullptr;
  ibv_comp_channel* channel_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_mr* mr_ = nullptr;
  ibv_srq* srq_ = nullptr;
  ibv_xrcd* xrcd_ = nullptr;
  std::unique_ptr<testing::CmEnd> cm_;
  std::vector<std::function<int()>> ends_;
};

}  // namespace verbena::survival
