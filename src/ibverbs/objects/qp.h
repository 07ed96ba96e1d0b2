#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "ibverbs/objects/objects.h"
#include "verbena/queue_pair.h"

namespace verbena::ibverbs {

class WorkBuilder;

// Owned by the program, as the objects of objects.h are; the same thread rule. Every queue pair has
// the size of an ibv_qp_ex; ibv_qp_to_qp_ex tells the program whether it has the extensions.
struct Qp : ibv_qp_ex {
  // The part that several Qps share if they opened the same queue pair, which has to be an XRC
  // receiver.
  struct Shared {
    verbena::ProtectionDomain domain;  // of an XRC receiver: the program gives it none
    verbena::QueuePair handle;
    const verbena::XrcDomain* xrc_domain = nullptr;
  };

  explicit Qp(std::shared_ptr<Shared> share);
  ~Qp();
  Qp(const Qp&) = delete;
  Qp& operator=(const Qp&) = delete;

  const std::shared_ptr<Shared> shared;
  verbena::QueuePair& handle;            // in `shared`
  ibv_qp_init_attr creation = {};        // with the capacities as granted
  uint64_t send_ops = 0;                 // IBV_QP_EX_WITH_* that can be posted
  std::unique_ptr<WorkBuilder> builder;  // for ibv_wr_*; null without the extensions
  Refcount pd_refcount = {};
  std::atomic<uint32_t> async_events = 0;
  // The MTU that the program set last, and the one that the connection has: see local_mtu.h.
  struct {
    PathMtu asked = {};
    PathMtu granted = {};
  } mtu;
};

[[nodiscard]] inline Qp& Cast(ibv_qp_ex* qp) { return *static_cast<Qp*>(qp); }
[[nodiscard]] inline Qp& Cast(ibv_qp* qp) { return Cast(reinterpret_cast<ibv_qp_ex*>(qp)); }

// --- The functions that a context's operations point to. ---

ibv_qp* CreateQpEx(ibv_context* context, ibv_qp_init_attr_ex* attributes);
ibv_qp* OpenQp(ibv_context* context, ibv_qp_open_attr* attributes);

// Copies the present state into ibv_qp::state: after a modify, and after a transition that the
// program did not ask for.
void RefreshState(Qp& qp);

}  // namespace verbena::ibverbs
