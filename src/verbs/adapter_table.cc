#include "verbs/adapter_table.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "verbs/counters.h"
#include "verbs/guest.h"
#include "verbs/options.h"

namespace verbena::verbs {
namespace {

using adapter::Adapter;
using adapter::ForkGuard;

bool IsShareable(const Options& open, const Options& wanted) {
  return !wanted.dedicated_adapter && open == wanted;
}

// Logs the warnings of an ending adapter that the program did not take.
void LogWarnings(Adapter& adapter) noexcept try {
  for (const std::string& warning : adapter.TakeWarnings()) Log(LogLevel::kInfo, warning);
} catch (const std::bad_alloc&) {
  Log(LogLevel::kInfo, "out of memory");
}

bool HasBudget(const Options& options) {
  return options.memory_budget > 0 || !options.guest.empty();
}

bool HaveTwoBudgets(const Options& open, const Options& wanted) {
  return HasBudget(open) && HasBudget(wanted);
}

}  // namespace

// Owns an adapter and its entry, which stays in the table until the adapter has ended. The contexts
// that share the adapter share the Owner.
struct AdapterTable::Owner {
  explicit Owner(AdapterTable& of) : table(of) {}
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() { table.End(*this); }

  AdapterTable& table;
  std::optional<Entries::iterator> entry;
  std::unique_ptr<Adapter> adapter;
  std::unique_ptr<Guest> guest;  // null if the process is not a guest
};

ErrorOr<AdapterTable*> AdapterTable::OfProcess() {
  static std::atomic<AdapterTable*> current = nullptr;
  AdapterTable* table = current.load();
  if (table != nullptr && !table->guard_.is_child()) return table;
  auto guard = ForkGuard::Make();
  if (!guard) return Fail(guard.error());
  auto made = std::make_unique<AdapterTable>(std::move(*guard), table);
  // If another thread was faster, `table` points to the table that it made.
  if (current.compare_exchange_strong(table, made.get())) table = made.release();
  return table;
}

AdapterTable::AdapterTable(ForkGuard guard, AdapterTable* of_parent)
    : guard_(std::move(guard)), of_parent_(of_parent) {}

ErrorOr<std::shared_ptr<Adapter>> AdapterTable::Open(const Options& options) {
  const auto owner = std::make_shared<Owner>(*this);
  auto found = FindOrEnter(options, *owner);
  if (!found || *found != nullptr) return found;
  auto opened = Adapter::Open(ToAdapter(options));
  if (!opened) return Fail(opened.error());
  owner->adapter = std::move(*opened);
  if (!options.guest.empty()) {
    auto guest = Guest::Attach(options, *owner->adapter);
    if (!guest) return Fail(guest.error());
    owner->guest = std::move(*guest);
  }
  std::shared_ptr<Adapter> adapter(owner, owner->adapter.get());
  {
    const std::scoped_lock lock(mutex_);
    (*owner->entry)->adapter = adapter;
  }
  changed_.notify_all();
  return adapter;
}

// At most one entry is relevant: only one has a budget, so if `options` have a budget and equal an
// entry, that is the entry with the budget.
ErrorOr<std::shared_ptr<Adapter>> AdapterTable::FindOrEnter(const Options& options, Owner& owner) {
  const auto matters = [&](const Entry& entry) {
    return IsShareable(entry.options, options) || HaveTwoBudgets(entry.options, options);
  };
  std::unique_lock lock(mutex_);
  for (auto entry = entries_.begin();
       (entry = std::ranges::find_if(entries_, matters)) != entries_.end();) {
    if (entry->adapter.expired()) {
      changed_.wait(lock);
    } else if (!IsShareable(entry->options, options)) {
      return Fail(
          Error{ErrorCode::kInUse,
                "this process already has a memory budget, of a device that was opened with "
                "other options: open both with the same options, or close the other device"});
    } else if (auto adapter = entry->adapter.lock()) {
      return adapter;
    }
  }
  owner.entry = entries_.insert(entries_.end(), {.options = options});
  return nullptr;
}

void AdapterTable::End(Owner& owner) {
  if (guard_.is_child()) {
    // The thread of the guest does not exist in a forked child.
    static_cast<void>(owner.guest.release());
    return;
  }
  owner.guest.reset();
  if (!owner.entry) return;
  DeviceCounters counters;
  if (owner.adapter != nullptr) {
    if (const auto report = owner.adapter->Query()) counters = CountersOf(*report);
    LogWarnings(*owner.adapter);
    owner.adapter.reset();
  }
  {
    const std::scoped_lock lock(mutex_);
    Add(ended_, counters);
    entries_.erase(*owner.entry);
  }
  changed_.notify_all();
}

DeviceCounters AdapterTable::Query() {
  std::vector<std::shared_ptr<Adapter>> open;
  DeviceCounters sum;
  {
    const std::scoped_lock lock(mutex_);
    sum = ended_;
    open.reserve(entries_.size());
    for (const Entry& entry : entries_) {
      if (auto adapter = entry.adapter.lock()) open.push_back(std::move(adapter));
    }
  }
  // Without the lock: if all contexts of an adapter close meanwhile, the adapter ends here, and End
  // takes the lock.
  for (const auto& adapter : open) {
    if (const auto report = adapter->Query()) Add(sum, CountersOf(*report));
  }
  return sum;
}

}  // namespace verbena::verbs
