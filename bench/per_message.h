#pragma once

// Two queue pairs of one process on libibverbs, and RDMA writes from one to the other: for programs
// that measure what it costs to register memory for each message.

#include <infiniband/verbs.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace verbena::bench {

inline constexpr size_t kMessageMax = size_t{16} << 20;
inline constexpr int kMessageRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

inline void Need(bool good, const char* what) {
  if (good) return;
  std::perror(what);
  std::exit(1);
}

struct Ends {
  uint8_t gid = 0;  // the index in the table of port 1
  ibv_mtu mtu = IBV_MTU_4096;
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_cq* cq = nullptr;
  ibv_qp* from = nullptr;
  ibv_qp* to = nullptr;
};

inline ibv_qp* MakeQp(const Ends& ends) {
  ibv_qp_init_attr wanted{};
  wanted.send_cq = wanted.recv_cq = ends.cq;
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap = {.max_send_wr = 16,
                .max_recv_wr = 16,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 0};
  ibv_qp* const qp = ibv_create_qp(ends.pd, &wanted);
  Need(qp != nullptr, "ibv_create_qp");
  return qp;
}

inline void Connect(const Ends& ends, ibv_qp* qp, uint32_t peer) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = 1;
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  Need(ibv_modify_qp(qp, &attributes,
                     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
       "INIT");
  attributes = {};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = ends.mtu;
  attributes.dest_qp_num = peer;
  attributes.max_dest_rd_atomic = 1;
  attributes.min_rnr_timer = 12;
  attributes.ah_attr.is_global = 1;
  attributes.ah_attr.port_num = 1;
  attributes.ah_attr.grh.hop_limit = 1;
  attributes.ah_attr.grh.sgid_index = ends.gid;
  Need(ibv_query_gid(ends.context, 1, ends.gid, &attributes.ah_attr.grh.dgid) == 0,
       "ibv_query_gid");
  Need(ibv_modify_qp(qp, &attributes,
                     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
       "RTR");
  attributes = {};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = 14;
  attributes.retry_cnt = attributes.rnr_retry = 7;
  attributes.max_rd_atomic = 1;
  Need(ibv_modify_qp(qp, &attributes,
                     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                         IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
       "RTS");
}

inline Ends Open(uint8_t gid) {
  ibv_device** const devices = ibv_get_device_list(nullptr);
  Need(devices != nullptr && devices[0] != nullptr, "ibv_get_device_list");
  Ends ends;
  ends.gid = gid;
  ends.context = ibv_open_device(devices[0]);
  Need(ends.context != nullptr, "ibv_open_device");
  ibv_port_attr port{};
  Need(ibv_query_port(ends.context, 1, &port) == 0, "ibv_query_port");
  ends.mtu = port.active_mtu;
  ends.pd = ibv_alloc_pd(ends.context);
  ends.cq = ibv_create_cq(ends.context, 32, nullptr, nullptr, 0);
  Need(ends.pd != nullptr && ends.cq != nullptr, "ibv_create_cq");
  ends.from = MakeQp(ends);
  ends.to = MakeQp(ends);
  Connect(ends, ends.from, ends.to->qp_num);
  Connect(ends, ends.to, ends.from->qp_num);
  return ends;
}

// Waits for the completion; a kernel that has one processor needs it for the other end.
inline void Write(const Ends& ends, const char* from, size_t length, uint32_t l_key,
                  const ibv_mr& target) {
  constexpr int kPollsMax = 100;
  ibv_sge sge{.addr = reinterpret_cast<uintptr_t>(from),
              .length = static_cast<uint32_t>(length),
              .lkey = l_key};
  ibv_send_wr request{};
  request.sg_list = &sge;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma = {.remote_addr = reinterpret_cast<uintptr_t>(target.addr), .rkey = target.rkey};
  ibv_send_wr* bad = nullptr;
  Need(ibv_post_send(ends.from, &request, &bad) == 0, "ibv_post_send");
  ibv_wc completion{};
  for (int polls = 1; ibv_poll_cq(ends.cq, 1, &completion) == 0; ++polls) {
    if (polls % kPollsMax == 0) sched_yield();
  }
  Need(completion.status == IBV_WC_SUCCESS, ibv_wc_status_str(completion.status));
}

inline char* MapMessage() {
  void* const memory =
      mmap(nullptr, kMessageMax, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Need(memory != MAP_FAILED, "mmap");
  std::fill_n(static_cast<char*>(memory), kMessageMax, 'x');
  return static_cast<char*>(memory);
}

template <class Fn>
[[nodiscard]] double MicrosecondsOf(Fn fn) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  fn();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

[[nodiscard]] inline double MedianOf(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace verbena::bench
