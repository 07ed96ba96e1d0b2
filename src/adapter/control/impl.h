#pragma once

#include <memory>
#include <optional>
#include <unordered_map>

#include "adapter/control/adapter.h"
#include "adapter/control/fork_guard.h"
#include "adapter/loop/engine.h"
#include "adapter/loop/event_wait.h"
#include "adapter/loop/progress_thread.h"
#include "adapter/loop/stuck_watch.h"
#include "adapter/objects/object_set.h"
#include "adapter/objects/xrc_domain.h"
#include "base/mappings.h"
#include "base/mutex.h"
#include "odp/pager.h"
#include "odp/pinned_memory.h"
#include "odp/takeover_memory.h"

namespace verbena::adapter {

// The members of an adapter, in the order of construction. Each may refer to those above it.
// Threads are constructed last and destroyed first.
struct Adapter::Impl {
  Impl(const AdapterOptions& with, ForkGuard guard, EventFile wake_file, EventFile notice_file,
       EventFile guest_file, std::unique_ptr<fabric::Fabric> fabric, Alarm alarm, Alarm stuck_alarm,
       std::unique_ptr<Trace> trace, std::optional<StreamFiles> streams);

  const AdapterOptions options;
  const ForkGuard fork_guard;
  const EventFile wake;    // of the progress thread
  const EventFile notice;  // of a thread that waits for a completion event
  AsyncEvents events;
  std::string page_events_warning;                // for the user; empty after it was returned
  const std::unique_ptr<PageEvents> page_events;  // nullptr: none
  const SystemClock clock;
  fabric::SystemAddresses addresses;
  odp::Pager pager;
  const Mappings mappings;
  odp::PinnedMemory pinned;
  Engine engine;
  // Held by calls that register and deregister, from start to end.
  Mutex registering VERBENA_ACQUIRED_BEFORE(engine);
  odp::TakeoverMemory takeover VERBENA_GUARDED_BY(registering);
  GuestControl guest_control;

  // Under the engine's lock.
  memory::ConsumerId consumer;  // this process
  ObjectSet<CompletionChannel> channels VERBENA_GUARDED_BY(engine);
  ObjectSet<Cq> cqs VERBENA_GUARDED_BY(engine);
  ObjectSet<Srq> srqs VERBENA_GUARDED_BY(engine);
  ObjectSet<XrcDomain> xrc_domains VERBENA_GUARDED_BY(engine);
  struct Handle {
    memory::PdId pd;
    transport::PathId path;
  };
  std::unordered_map<AddressHandleId, Handle> handles VERBENA_GUARDED_BY(engine);
  uint32_t last_handle VERBENA_GUARDED_BY(engine) = 0;
  uint32_t last_xrc_srq VERBENA_GUARDED_BY(engine) = 0;

  StuckWatch stuck_watch;
  EventWait waits;
  ProgressThread progress_thread;
};

}  // namespace verbena::adapter
