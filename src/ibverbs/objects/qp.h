#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "ibverbs/objects/objects.h"
#include "verbena/queue_pair.h"

namespace verbena::ibverbs {

class WorkBuilder;

// As the other objects. Every queue pair has the room of one with extensions; ibv_qp_to_qp_ex tells
// the program whether it is one.
struct Qp : ibv_qp_ex {
  // What several have that opened the same: only receivers of XRC can be.
  struct Shared {
    verbena::ProtectionDomain domain;  // of a receiver of XRC, which has none of the program's
    verbena::QueuePair handle;
    const verbena::XrcDomain* xrc_domain = nullptr;
  };

  explicit Qp(std::shared_ptr<Shared> share);
  ~Qp();
  Qp(const Qp&) = delete;
  Qp& operator=(const Qp&) = delete;

  const std::shared_ptr<Shared> shared;
  verbena::QueuePair& handle;            // the shared one
  ibv_qp_init_attr creation = {};        // with the capacities that it got
  uint64_t send_ops = 0;                 // IBV_QP_EX_WITH_* that it can do
  std::unique_ptr<WorkBuilder> builder;  // null unless made for ibv_wr_start and what follows it
  Refcount pd_refcount = {};
  std::atomic<uint32_t> async_events = 0;
  // What the program set last, and what its connection has: see local_mtu.h.
  struct {
    PathMtu asked = {};
    PathMtu granted = {};
  } mtu;
};

[[nodiscard]] inline Qp& Cast(ibv_qp_ex* qp) { return *static_cast<Qp*>(qp); }
[[nodiscard]] inline Qp& Cast(ibv_qp* qp) { return Cast(reinterpret_cast<ibv_qp_ex*>(qp)); }

// --- What a context's operations point to. ---

ibv_qp* CreateQpEx(ibv_context* context, ibv_qp_init_attr_ex* attributes);
ibv_qp* OpenQp(ibv_context* context, ibv_qp_open_attr* attributes);

// Brings qp.state up to date, after something happened that was no call of the program.
void RefreshState(Qp& qp);

}  // namespace verbena::ibverbs
