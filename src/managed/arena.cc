#include "managed/arena.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <utility>

#include "base/check.h"
#include "base/quiet_thread.h"
#include "managed/userfault_view.h"
#include "paging/granule_table.h"

namespace verbena::managed {
namespace {

constexpr PageShift kGranuleMax(21);

Error TooManyGranules() {
  return SystemError(EINVAL, "managed memory of this size needs larger granules");
}

timespec AsTimespec(Duration duration) {
  constexpr int64_t kSecond = 1'000'000'000;
  return {.tv_sec = static_cast<time_t>(duration.nanoseconds() / kSecond),
          .tv_nsec = duration.nanoseconds() % kSecond};
}

}  // namespace

ErrorOr<std::unique_ptr<Arena>> Arena::Make(const ArenaOptions& options,
                                            const ArenaCallbacks& callbacks) {
  CHECK(options.now && callbacks.on_ready && callbacks.unmap_adapter);
  if (options.granule > kGranuleMax) {
    return Fail(SystemError(EINVAL, "granules of managed memory are 2 MiB at most"));
  }
  ErrorOr<Parts> parts = options.takes_over.empty() ? MakeMemory(options) : MakeAside(options);
  if (!parts) return Fail(std::move(parts.error()));
  auto store = MakeStore(options, *parts->memory);
  if (!store) return Fail(std::move(store.error()));
  parts->store = std::move(*store);
  auto signal = Inbox::MakeSignal();
  if (!signal) return Fail(std::move(signal.error()));
  parts->signal = std::move(*signal);
  return std::unique_ptr<Arena>(new Arena(std::move(*parts), options, callbacks));
}

// Which view the system permits is known only after a try, and the SignalView may need larger
// granules.
ErrorOr<Arena::Parts> Arena::MakeMemory(const ArenaOptions& options) {
  std::string why;
  for (const CpuViewKind kind : {CpuViewKind::kUserfault, CpuViewKind::kSignal}) {
    if (options.view != CpuViewKind::kBest && options.view != kind) continue;
    const PageShift granule =
        kind == CpuViewKind::kUserfault
            ? options.granule
            : GranuleFor(options.size, options.budget, options.granule, MappingsMax());
    auto memory = MemoryFile::Make(options.size, granule);
    if (!memory) return Fail(std::move(memory.error()));
    if ((*memory)->granule_count() > paging::GranuleTable::kGranulesMax) {
      return Fail(TooManyGranules());
    }
    auto view = MakeCpuView(kind, (*memory)->cpu_view(), granule);
    if (view) return Parts{std::move(*memory), std::move(*view), nullptr, {}};
    why = view.error().text;
  }
  return Fail(SystemError(EOPNOTSUPP, why));
}

ErrorOr<Arena::Parts> Arena::MakeAside(const ArenaOptions& options) {
  auto memory = MemoryFile::MakeAside(options.takes_over, options.granule);
  if (!memory) return Fail(std::move(memory.error()));
  if ((*memory)->granule_count() > paging::GranuleTable::kGranulesMax)
    return Fail(TooManyGranules());
  auto view =
      UserfaultView::MakeAside((*memory)->aside(), options.takes_over.data(), options.granule);
  if (!view) return Fail(std::move(view.error()));
  return Parts{std::move(*memory), std::move(*view), nullptr, {}};
}

ErrorOr<std::unique_ptr<SwapStore>> Arena::MakeStore(const ArenaOptions& options,
                                                     const MemoryFile& memory) {
  auto file = MakeSwapFile(options.swap, SwapStore::kTransfersMax);
  if (!file) return Fail(std::move(file.error()));
  if (options.wrap_swap_file) *file = options.wrap_swap_file(std::move(*file));
  return std::make_unique<SwapStore>(std::move(*file),
                                     SwapOptions{.granule = memory.granule(),
                                                 .granule_count = memory.granule_count(),
                                                 .bytes_max = options.swap_bytes_max,
                                                 .compress = options.compress});
}

Arena::Arena(Parts parts, const ArenaOptions& options, const ArenaCallbacks& callbacks)
    : memory_(std::move(parts.memory)),
      view_(std::move(parts.view)),
      store_(std::move(parts.store)),
      now_(options.now),
      counted_in_(options.counted_in),
      executor_({*memory_, *view_, *store_}, options, callbacks),
      inbox_(std::move(parts.signal)),
      report_(executor_.report()) {
  if (options.has_thread) thread_ = StartQuietThread("verbena-pager", [this] { Run(); });
}

Arena::~Arena() {
  inbox_.PutStop();
  if (thread_.joinable()) thread_.join();
  Count(0);
  view_->Stop();
}

void Arena::PageIn(uint64_t first_byte, uint64_t length, bool for_write, uint64_t ticket) {
  CHECK(length > 0);
  CheckRange(first_byte, length);
  inbox_.Put({.kind = Request::Kind::kPageIn,
              .for_write = for_write,
              .first_byte = first_byte,
              .length = length,
              .ticket = ticket});
}

void Arena::Discard(uint64_t first_byte, uint64_t length) {
  CheckRange(first_byte, length);
  inbox_.Put({.kind = Request::Kind::kDiscard, .first_byte = first_byte, .length = length});
}

void Arena::SwapOut(uint64_t first_byte, uint64_t length, uint64_t ticket) {
  CheckRange(first_byte, length);
  inbox_.Put({.kind = Request::Kind::kSwapOut,
              .first_byte = first_byte,
              .length = length,
              .ticket = ticket});
}

void Arena::SetBudget(uint64_t bytes) {
  inbox_.Put({.kind = Request::Kind::kSetBudget, .length = bytes});
}

std::vector<ResidencyCell> Arena::ResidencyMap(size_t cells) const {
  std::vector<ResidencyCell> map(cells);
  const uint64_t count = memory_->granule_count();
  for (uint64_t i = 0; i < count; ++i) {
    ResidencyCell& cell = map[i * cells / count];
    switch (executor_.residency(static_cast<uint32_t>(i))) {
      case Residency::kAbsent:
        ++cell.absent;
        break;
      case Residency::kInMemory:
        ++cell.in_memory;
        break;
      case Residency::kSwapped:
        ++cell.swapped;
        break;
      case Residency::kBroken:
        ++cell.broken;
        break;
    }
  }
  return map;
}

ArenaReport Arena::report() const {
  const MutexLock lock(mutex_);
  return report_;
}

void Arena::CheckRange(uint64_t first_byte, uint64_t length) const {
  CHECK(first_byte <= bytes().size() && length <= bytes().size() - first_byte);
}

void Arena::Run() {
  Awake awake{.for_requests = true, .for_faults = true};
  while (Serve(awake)) awake = Sleep();
}

void Arena::RunOnce() {
  CHECK(!thread_.joinable());
  CHECK(Serve({.for_requests = true, .for_faults = true}));
}

bool Arena::Serve(Awake awake) {
  if (awake.for_requests) {
    if (!inbox_.Take(requests_)) return false;
    for (const Request& request : requests_) executor_.Serve(request);
  }
  if (awake.for_faults) executor_.ServeFaults();
  executor_.OnTime();
  executor_.ServeStore();
  Publish();
  return true;
}

Arena::Awake Arena::Sleep() const {
  std::array<pollfd, 3> sources{
      {{inbox_.fd(), POLLIN, 0}, {view_->fd(), POLLIN, 0}, {store_->fd(), POLLIN, 0}}};
  const Time due = executor_.next_time();
  const bool has_heard = view_->has_heard();
  const timespec left = AsTimespec(has_heard ? Duration() : std::max(due - now_(), Duration()));
  const bool may_sleep_on = due == Time::Never() && !has_heard;
  ppoll(sources.data(), sources.size(), may_sleep_on ? nullptr : &left, nullptr);
  return {.for_requests = sources[0].revents != 0,
          .for_faults = sources[1].revents != 0 || has_heard};
}

void Arena::Publish() {
  const ArenaReport report = executor_.report();
  Count(report.paging.in_memory * report.granule_bytes);
  const MutexLock lock(mutex_);
  report_ = report;
}

void Arena::Count(uint64_t resident) {
  if (counted_in_ != nullptr) counted_in_->Change(counted_, resident);
  counted_ = resident;
}

}  // namespace verbena::managed
