#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>

#include "adapter/control/adapter.h"
#include "adapter/control/fork_guard.h"
#include "verbena/counters.h"
#include "verbena/options.h"

namespace verbena::verbs {

// The adapters that this process has open. Contexts whose options are equal share one, so that a
// process is one endpoint, however many of its libraries open the device.
//
// An adapter ends with its last context, on the thread that closes that, and without the table's
// lock, because it takes as long as joining threads does. A thread that wants one with the same
// options meanwhile waits for that end, as for the end of another thread's opening: in strict mode
// there is one port for all of them.
//
// Any thread.
class AdapterTable {
 public:
  // The table of this process, which is never destroyed: programs close contexts while they end. A
  // child after a fork gets a new one, and leaves its parent's alone, whose lock may be held by a
  // thread that the child does not have.
  [[nodiscard]] static ErrorOr<AdapterTable*> OfProcess();

  AdapterTable(adapter::ForkGuard guard, AdapterTable* of_parent);
  AdapterTable(const AdapterTable&) = delete;
  AdapterTable& operator=(const AdapterTable&) = delete;

  // The one that is open with equal options, or a new one. REFUSES a second memory budget: regions
  // of one adapter may lie on memory of the other's, and each might wait for the other to page in.
  [[nodiscard]] ErrorOr<std::shared_ptr<adapter::Adapter>> Open(const Options& options);

  // What all of them counted, those that have ended included.
  [[nodiscard]] DeviceCounters Query();

 private:
  struct Entry {
    Options options;
    std::weak_ptr<adapter::Adapter> adapter = {};  // expired: it is being opened, or ends
  };
  using Entries = std::list<Entry>;
  struct Owner;

  // The adapter to share; nullptr if there is none, and `owner` has the entry for a new one. Waits
  // while an adapter that matters is being opened or ends.
  [[nodiscard]] ErrorOr<std::shared_ptr<adapter::Adapter>> FindOrEnter(const Options& options,
                                                                       Owner& owner);
  void End(Owner& owner);

  const adapter::ForkGuard guard_;
  // Of a child: keeps what it inherited reachable, for leak checkers.
  [[maybe_unused]] AdapterTable* const of_parent_;

  std::mutex mutex_;
  std::condition_variable changed_;  // an entry got its adapter, or is gone
  // Guarded by the mutex.
  Entries entries_;
  DeviceCounters ended_;
};

}  // namespace verbena::verbs
