#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace verbena::ibverbs {

// The IBV_QP_EX_WITH_* that can be posted to a queue pair of this type.
[[nodiscard]] constexpr uint64_t SendOpsOf(ibv_qp_type type) {
  constexpr uint64_t kDatagram = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
  constexpr uint64_t kUnreliable = kDatagram | IBV_QP_EX_WITH_RDMA_WRITE |
                                   IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_LOCAL_INV |
                                   IBV_QP_EX_WITH_BIND_MW;
  constexpr uint64_t kReliable = kUnreliable | IBV_QP_EX_WITH_RDMA_READ |
                                 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV;
  switch (type) {
    case IBV_QPT_UD:
      return kDatagram;
    case IBV_QPT_UC:
      return kUnreliable;
    case IBV_QPT_RC:
      return kReliable | IBV_QP_EX_WITH_ATOMIC_WRITE;
    case IBV_QPT_XRC_SEND:
      return kReliable;
    default:
      return 0;
  }
}

// The IBV_QP_EX_WITH_* of an opcode; 0 for an opcode that no queue pair supports.
[[nodiscard]] constexpr uint64_t SendOpOf(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
      return IBV_QP_EX_WITH_RDMA_WRITE;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
    case IBV_WR_SEND:
      return IBV_QP_EX_WITH_SEND;
    case IBV_WR_SEND_WITH_IMM:
      return IBV_QP_EX_WITH_SEND_WITH_IMM;
    case IBV_WR_RDMA_READ:
      return IBV_QP_EX_WITH_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
    case IBV_WR_LOCAL_INV:
      return IBV_QP_EX_WITH_LOCAL_INV;
    case IBV_WR_BIND_MW:
      return IBV_QP_EX_WITH_BIND_MW;
    case IBV_WR_SEND_WITH_INV:
      return IBV_QP_EX_WITH_SEND_WITH_INV;
    case IBV_WR_ATOMIC_WRITE:
      return IBV_QP_EX_WITH_ATOMIC_WRITE;
    default:
      return 0;
  }
}

}  // namespace verbena::ibverbs
