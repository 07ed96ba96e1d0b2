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

// The open adapters of this process. Contexts with equal options share one, so that a process uses
// one endpoint even if several of its libraries open the device.
//
// An adapter ends with its last context, on the thread that closes that context. The table is not
// locked in the meantime, because the end has to join threads. A thread that opens a context with
// the same options waits until the adapter has ended, and also while another thread opens one: in
// strict mode all of them need the same port.
//
// Any thread.
class AdapterTable {
 public:
  // The table of this process. It is never destroyed, because programs close contexts while they
  // exit. A forked child gets a new table and does not touch its parent's: a thread that does not
  // exist in the child may hold the parent's lock.
  [[nodiscard]] static ErrorOr<AdapterTable*> OfProcess();

  AdapterTable(adapter::ForkGuard guard, AdapterTable* of_parent);
  AdapterTable(const AdapterTable&) = delete;
  AdapterTable& operator=(const AdapterTable&) = delete;

  // Returns the open adapter with equal options, or a new one. Refuses a second memory budget
  // (kInUse): regions of one adapter can be on memory that the other manages, and each could wait
  // for the other to page in.
  [[nodiscard]] ErrorOr<std::shared_ptr<adapter::Adapter>> Open(const Options& options);

  // The sum over all adapters, including those that have ended.
  [[nodiscard]] DeviceCounters Query();

 private:
  struct Entry {
    Options options;
    std::weak_ptr<adapter::Adapter> adapter = {};  // expired while the adapter is opened or ends
  };
  using Entries = std::list<Entry>;
  struct Owner;

  // Returns the adapter to share. If there is none, returns nullptr, and `owner` has the entry for
  // a new one. Waits while an adapter with equal options, or with a conflicting budget, is being
  // opened or is ending.
  [[nodiscard]] ErrorOr<std::shared_ptr<adapter::Adapter>> FindOrEnter(const Options& options,
                                                                       Owner& owner);
  void End(Owner& owner);

  const adapter::ForkGuard guard_;
  // In a child: keeps the inherited table reachable, for leak checkers.
  [[maybe_unused]] AdapterTable* const of_parent_;

  std::mutex mutex_;
  std::condition_variable changed_;  // an entry got its adapter, or was removed
  // Guarded by the mutex.
  Entries entries_;
  DeviceCounters ended_;
};

}  // namespace verbena::verbs
