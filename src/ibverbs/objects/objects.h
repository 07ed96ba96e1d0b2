#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/file_descriptor.h"
#include "ibverbs/objects/handle_table.h"
#include "ibverbs/objects/id_map.h"
#include "ibverbs/objects/refcount.h"
#include "ibverbs/objects/xrc_files.h"
#include "ibverbs/query/gid_table.h"
#include "ibverbs/settings.h"
#include "verbena/verbena.h"

// The objects behind the pointers that a program holds: each is the C structure of the verbs,
// followed by a handle of the C++ API. Cast gets from the C structure to the object.
//
// Owned by the program, from the call that creates an object to the call that destroys it and frees
// the memory. Thread rule of the verbs: any thread, but none while another destroys the object.

namespace verbena::ibverbs {

// Later headers add fields to the front of verbs_context. Programs that were compiled against them
// read the memory before our context, and must find zeros.
struct AbiPadding {
  std::array<std::byte, 1024> zeros{};
};

struct Dm;
struct Pd;
struct Mr;

struct Context : AbiPadding, verbs_context {
  // An empty file with the descriptor cmd_fd: an import finds the context by it.
  FileDescriptor cmd_file;
  verbena::Context handle;
  Settings settings = {};
  GidTable& gids = TheGidTable();
  IdMap id_map;                // from the ids in events to objects
  HandleTable<Pd> pds;         // by handle, for imports
  HandleTable<Mr> mrs;         // likewise
  HandleTable<Dm> dms;         // likewise
  HandleTable<Mr> mrs_by_key;  // L_Key
  // Bytes. Shared with the allocations, which can outlive the context.
  std::shared_ptr<std::atomic<uint64_t>> device_memory_used =
      std::make_shared<std::atomic<uint64_t>>(0);
  XrcFiles xrc_files;
  uint32_t references = 1;  // see open_contexts.h
};

struct Td : ibv_td {
  Users users;
};

struct Pd : ibv_pd {
  verbena::ProtectionDomain handle;  // empty in a parent domain and in an imported one
  Pd* parent = nullptr;              // the domain that such a Pd stands for; else null
  Refcount parent_refcount = {};
  Refcount td_refcount = {};
  // Objects of this domain: each has a Refcount on it. It cannot be deallocated before them.
  Users users;
  // Of its regions, if the user wants one: see mr_cache.h. Empty in a domain without a handle.
  verbena::RegistrationCache cache = {};
  HandleTable<Pd>::Entry entry = {};  // by which it can be imported; ends first

  [[nodiscard]] const verbena::ProtectionDomain& domain() const {
    return parent != nullptr ? parent->domain() : handle;
  }
  [[nodiscard]] verbena::RegistrationCache& registration_cache() {
    return parent != nullptr ? parent->registration_cache() : cache;
  }
};

struct Xrcd : ibv_xrcd {
  std::shared_ptr<verbena::XrcDomain> handle;  // shared by all Xrcds of the same file
};

struct Mr : ibv_mr {
  verbena::MemoryRegion handle;  // empty if it was imported, or is cached
  verbena::CachedRegion cached = {};
  unsigned access = 0;  // IBV_ACCESS_*
  Refcount pd_refcount = {};
  Refcount dm_refcount = {};
  Users users;                        // calls of ibv_advise_mr
  HandleTable<Mr>::Entry entry = {};  // by which it can be imported; ends first, as by_key does
  HandleTable<Mr>::Entry by_key = {};

  [[nodiscard]] verbena::MemoryRegion& region() {
    return cached ? *static_cast<verbena::MemoryRegion*>(cached.object()) : handle;
  }
};

struct Mw : ibv_mw {
  verbena::MemoryWindow handle;
  verbena::Key bound = {};  // the key of the last bind that was posted; 0 before the first

  [[nodiscard]] verbena::Key key() const {
    return bound == verbena::Key{} ? handle.first_key() : bound;
  }
  Refcount pd_refcount = {};
};

struct Ah : ibv_ah {
  verbena::AddressHandle handle;
  Refcount pd_refcount = {};
};

struct Channel : ibv_comp_channel {
  verbena::CompletionChannel handle;
};

struct Cq : ibv_cq_ex {
  verbena::CompletionQueue handle;
  verbena::Completion current = {};  // of ibv_start_poll and ibv_next_poll
  // How far the wall clock is ahead of the clock of completions, and whether this was measured
  // since the last ibv_start_poll.
  int64_t wall_offset_ns = 0;
  bool wall_offset_is_known = false;
  // Events that were handed out; the C structure counts the acknowledged ones.
  std::atomic<uint32_t> completion_events = 0;
  std::atomic<uint32_t> async_events = 0;
};

struct Srq : ibv_srq {
  verbena::SharedReceiveQueue handle;
  uint32_t sges_max = 0;
  ibv_srq_type type = IBV_SRQT_BASIC;
  Refcount pd_refcount = {};
  std::atomic<uint32_t> async_events = 0;
};

// An ibv_cq_ex begins like an ibv_cq, and the inline functions of verbs.h cast one to the other, as
// Cast does here.
[[nodiscard]] inline Context& Cast(ibv_context* context) {
  return *static_cast<Context*>(verbs_get_ctx(context));
}
[[nodiscard]] inline Pd& Cast(ibv_pd* pd) { return *static_cast<Pd*>(pd); }
[[nodiscard]] inline Td& Cast(ibv_td* td) { return *static_cast<Td*>(td); }
[[nodiscard]] inline Xrcd& Cast(ibv_xrcd* xrcd) { return *static_cast<Xrcd*>(xrcd); }
[[nodiscard]] inline Mr& Cast(ibv_mr* mr) { return *static_cast<Mr*>(mr); }
[[nodiscard]] inline Mw& Cast(ibv_mw* mw) { return *static_cast<Mw*>(mw); }
[[nodiscard]] inline Ah& Cast(ibv_ah* ah) { return *static_cast<Ah*>(ah); }
[[nodiscard]] inline Channel& Cast(ibv_comp_channel* channel) {
  return *static_cast<Channel*>(channel);
}
[[nodiscard]] inline Cq& Cast(ibv_cq_ex* cq) { return *static_cast<Cq*>(cq); }
[[nodiscard]] inline Cq& Cast(ibv_cq* cq) { return Cast(reinterpret_cast<ibv_cq_ex*>(cq)); }
[[nodiscard]] inline Srq& Cast(ibv_srq* srq) { return *static_cast<Srq*>(srq); }

}  // namespace verbena::ibverbs
