#include "adapter/control/adapter.h"

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <utility>

#include "adapter/control/endpoint_claims.h"
#include "adapter/control/impl.h"
#include "adapter/loop/poll_backoff.h"
#include "adapter/loop/preemptions.h"
#include "base/clock.h"
#include "managed/swap_file.h"
#include "managed/uffd_source.h"
#include "memory/copy/signal_guard.h"

namespace verbena::adapter {
namespace {

// Of this thread, for all queues that it polls. With this TLS model, calls of the data path need no
// look-up of the address.
[[gnu::tls_model("initial-exec")]] constinit thread_local PollBackoff backoff;

// A thread that spins reads the clock and yields continuously. Where the clock takes a system call,
// because the kernel does not share it with programs, system calls are often dear: sleeping is
// cheaper.
AdapterOptions SpinIfClockIsCheap(AdapterOptions options) {
  if (CounterClock::IsClockDear()) options.spin = {};
  CounterClock::UseIfClockIsDear();
  return options;
}

// Seeds, so that keys and numbers cannot be guessed.
AdapterOptions Seeded(AdapterOptions options) {
  std::random_device device;
  options.key_seed ^= uint64_t{device()} << 32 | device();
  if (options.identity_seed == 0) options.identity_seed = uint64_t{device()} << 32 | device();
  return options;
}

std::unique_ptr<PageEvents> OpenPageEvents(const AdapterOptions& options, std::string& warning) {
  if (!options.page_events) return nullptr;
  std::string why_not;
  auto events = PageEvents::Open(PageEvents::Scope::kAny, why_not);
  warning =
      events != nullptr
          ? std::string("pages that the program gives up are reported by ") +
                NameOf(events->source())
          : "pages that the program gives up are not reported: no userfaultfd (" + why_not + ")";
  return events;
}

odp::PagerOptions PagerOptionsOf(const AdapterOptions& options,
                                 std::function<void(const std::string& warning)> on_limit) {
  return {.threads = options.pager_threads,
          .threads_max = std::max(options.pager_threads, options.pager_threads_max),
          .residency_scan_period = options.residency_scan_period,
          .on_limit = std::move(on_limit)};
}

// Checks what is needed to put any memory at all under a budget.
ErrorOr<void> CheckStrictBudget(const AdapterOptions& options) {
  const auto refused = [](const Error& why) {
    return Fail(SystemError(why.os_error, "the strict memory budget cannot be kept: " + why.text));
  };
  if (const auto source = managed::OpenForSystemCalls(); !source) return refused(source.error());
  if (const auto swap = managed::OpenSwap(options.swap); !swap) return refused(swap.error());
  return {};
}

ErrorOr<void> CheckBudget(const AdapterOptions& options) {
  if (options.memory_budget == 0) return {};
  if (options.memory_budget < kMemoryBudgetMin) {
    return Fail(Error{ErrorCode::kInvalid, "the memory budget must be at least 1 MiB"});
  }
  if (options.pin) {
    return Fail(Error{ErrorCode::kInvalid, "a memory budget and pinned memory cannot be combined"});
  }
  return options.memory_budget_strict ? CheckStrictBudget(options) : ErrorOr<void>();
}

ErrorOr<void> CheckIwarp(const AdapterOptions& options) {
  if (options.mpa_revision == 1 || options.mpa_revision == 2) return {};
  return Fail(Error{ErrorCode::kInvalid, "the revision of MPA must be 1 or 2"});
}

// Whether the system call would cost more than the message. Only for messages that are
// acknowledged.
bool IsSmall(const QueuePair& qp, const queue::SendWorkRequest& request) {
  constexpr uint64_t kSmall = 1'024;
  uint64_t length = 0;
  for (const Sge& sge : request.sges) length += sge.length;
  return length <= kSmall && transport::IsReliable(qp.spec().type);
}

template <class T>
PostResult Posted(const Result<T, PostError>& result) {
  if (!result) return Fail(result.error());
  return {};
}

}  // namespace

Adapter::Impl::Impl(const AdapterOptions& with, ForkGuard guard, EventFile wake_file,
                    EventFile notice_file, EventFile guest_file,
                    std::unique_ptr<fabric::Fabric> fabric, Alarm alarm, Alarm stuck_alarm,
                    std::unique_ptr<Trace> trace, std::optional<StreamFiles> streams)
    : options(with),
      fork_guard(std::move(guard)),
      wake(std::move(wake_file)),
      notice(std::move(notice_file)),
      events(options.contexts_max),
      page_events(OpenPageEvents(options, page_events_warning)),
      pager(
          PagerOptionsOf(
              options, [this](const std::string& warning) { engine.paging.managed.Warn(warning); }),
          [this] { progress_thread.Notice(); }),
      engine(options, std::move(fabric), std::move(alarm), events, pager, clock, addresses,
             std::move(trace), page_events.get()),
      takeover(engine, engine.paging.managed,
               {options.memory_budget, options.swap, options.memory_budget_strict,
                options.memory_floor}),
      guest_control({engine, registering, takeover}, std::move(guest_file)),
      // No other thread uses the engine yet.
      consumer(*engine.memory.consumers.Open(
          {.has_segments = true,
           .is_flat_outside = true,
           .table = memory::ConsumerSpec::PrivateTable{.identity = true}})),
      channels(options.channels_max),
      cqs(options.cqs_max),
      srqs(options.srqs_max),
      xrc_domains(options.xrc_domains_max),
      stuck_watch(engine.holder(), std::move(stuck_alarm)),
      waits(engine, notice, wake, DurationOf(options.spin)),
      progress_thread(engine, waits, wake, options) {
  pager.set_events(page_events.get());
  const EngineLock lock(engine);
  engine.set_stuck_watch(&stuck_watch);
  if (streams) {
    engine.StartIwarp(std::move(*streams));
    wake.Signal();  // the progress thread may sleep on the sockets of RoCE by now
  }
  engine.paging.managed.set_consumer(consumer);
  engine.set_claim_roce_port([this] { return OpenRocePort(options); },
                             [this] { progress_thread.Notice(); });
}

ErrorOr<std::unique_ptr<Adapter>> Adapter::Open(const AdapterOptions& wanted) {
  if (const auto ok = CheckBudget(wanted); !ok) return Fail(ok.error());
  if (const auto ok = CheckIwarp(wanted); !ok) return Fail(ok.error());
  const AdapterOptions options = SpinIfClockIsCheap(Seeded(wanted));
  memory::SignalGuard::Install();
  auto guard = ForkGuard::Make();
  if (!guard) return Fail(guard.error());
  auto wake = EventFile::Open(false);
  if (!wake) return Fail(wake.error());
  auto notice = EventFile::Open(false);
  if (!notice) return Fail(notice.error());
  auto guest_notice = EventFile::Open(false);
  if (!guest_notice) return Fail(guest_notice.error());
  auto alarm = Alarm::Make();
  if (!alarm) return Fail(alarm.error());
  auto stuck_alarm = Alarm::Make();
  if (!stuck_alarm) return Fail(stuck_alarm.error());
  auto fabric = OpenEndpoint(options, fabric::EndpointUse::kFirst);
  if (!fabric) return Fail(fabric.error());
  std::unique_ptr<Trace> trace;
  if (!options.trace.empty()) {
    auto opened = Trace::Open(options.trace, options.on_urgent_warning);
    if (!opened) return Fail(opened.error());
    trace = std::move(*opened);
  }
  std::optional<StreamFiles> streams;
  if (IsIwarp(options.transport)) {
    auto opened = StreamFiles::Open(
        options.transport == TransportType::kIwarpSctp ? StreamWire::kSctp : StreamWire::kTcp);
    if (!opened) return Fail(opened.error());
    streams = std::move(*opened);
  }
  auto parts =
      std::make_unique<Impl>(options, std::move(*guard), std::move(*wake), std::move(*notice),
                             std::move(*guest_notice), std::move(*fabric), std::move(*alarm),
                             std::move(*stuck_alarm), std::move(trace), std::move(streams));
  // Not make_unique: the constructor is private.
  return std::unique_ptr<Adapter>(new Adapter(std::move(parts)));
}

Adapter::Adapter(std::unique_ptr<Impl> parts) : impl_(std::move(parts)) {}

Adapter::~Adapter() {
  // In a child there are no threads to join, and a lock may be held by a thread that does not exist
  // there.
  if (impl_->fork_guard.is_child()) {
    static_cast<void>(impl_.release());
    return;
  }
  impl_->progress_thread.Stop();
  Flush();
  {
    const MutexLock registering(impl_->registering);
    impl_->takeover.ReleaseAll();
  }
  impl_->engine.paging.managed.EndAll();
  {
    const EngineLock lock(impl_->engine);
    impl_->engine.set_stuck_watch(nullptr);
  }
  impl_->stuck_watch.Stop();
  impl_->pager.Stop();
}

void Adapter::Flush() {
  if (Dead()) return;
  const EngineLock lock(impl_->engine);
  impl_->engine.Pass();
  impl_->engine.FlushStreams();
}

std::optional<Error> Adapter::Dead() const {
  if (!impl_->fork_guard.is_child()) return std::nullopt;
  return Error{ErrorCode::kForked, "the adapter was opened by the parent of this process"};
}

const AdapterOptions& Adapter::options() const { return impl_->options; }
fabric::EndpointId Adapter::endpoint() const {
  return std::as_const(impl_->engine).fabric().endpoint();
}
uint16_t Adapter::port() const { return std::as_const(impl_->engine).fabric().port(); }
GuestControl* Adapter::guest_control() { return Dead() ? nullptr : &impl_->guest_control; }
bool Adapter::is_forked() const { return impl_->fork_guard.is_child(); }
const volatile unsigned* Adapter::fork_mark() const { return impl_->fork_guard.mark(); }

ErrorOr<std::vector<fabric::LocalAddress>> Adapter::LocalAddresses() {
  return fabric::LocalAddresses();
}

ErrorOr<PathMtu> Adapter::LargestMtu(const AddressVector& vector) {
  const fabric::Route route = Path{.vector = vector}.RouteTo({}, {});
  const auto bytes = fabric::PathMtu(route);
  if (!bytes) return Fail(bytes.error());
  return LargestMtuFor(*bytes, vector.destination);
}

MemoryEvents* Adapter::memory_events() { return impl_->page_events.get(); }

std::vector<std::string> Adapter::TakeWarnings() {
  if (Dead()) return {};
  const EngineLock lock(impl_->engine);
  std::vector<std::string> warnings = impl_->engine.TakeWarnings();
  if (!impl_->page_events_warning.empty()) {
    warnings.push_back(std::exchange(impl_->page_events_warning, {}));
  }
  return warnings;
}

ErrorOr<AdapterReport> Adapter::Query() {
  if (const auto dead = Dead()) return Fail(*dead);
  Engine& engine = impl_->engine;
  const MutexLock registering(impl_->registering);
  BudgetCounters budget = impl_->takeover.counters();
  const EngineLock lock(engine);
  const odp::StageFaults& faults = engine.paging.managed.stage_faults();
  budget.first_stage_faults = faults.first;
  budget.second_stage_faults = faults.second;
  budget.first_stage_present = faults.present;
  return AdapterReport{
      .port = engine.counters(),
      .budget = budget,
      .cm = engine.iwarp != nullptr ? engine.iwarp->counters() : engine.gsi.counters(),
      .sent = engine.endpoints().transmit_counters(),
      .received = engine.endpoints().receive_counters(),
      .progress_thread_wake_ups = impl_->progress_thread.wake_ups(),
      .events_lost = impl_->events.lost()};
}

PostResult Adapter::PostSend(QueuePair& qp, const queue::SendWorkRequest& request) {
  if (impl_->fork_guard.is_child()) return Fail(PostError{PostReason::kForked});
  if (const auto refused = qp.RefusesSends()) return Fail(*refused);
  const auto posted = qp.send_queue().Post(request);
  Found();
  if (posted) {
    // The thread polls or waits for events, or another one polls for it.
    const bool may_wait =
        IsSmall(qp, request) && (backoff.OnPost() || Now() < impl_->engine.polled_until());
    may_wait ? impl_->engine.KickSmall(qp, *posted) : impl_->engine.Kick(qp);
  }
  return Posted(posted);
}

PostResult Adapter::PostReceive(QueuePair& qp, const queue::ReceiveWorkRequest& request) {
  if (impl_->fork_guard.is_child()) return Fail(PostError{PostReason::kForked});
  if (const auto refused = qp.RefusesReceives()) return Fail(*refused);
  const auto posted = qp.receive_queue().Post(request);
  if (posted) {
    // See QueuePair::ShowState.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (qp.must_run_for_receives()) impl_->engine.Kick(qp);
  }
  return Posted(posted);
}

PostResult Adapter::PostReceive(Srq& srq, const queue::ReceiveWorkRequest& request) {
  if (impl_->fork_guard.is_child()) return Fail(PostError{PostReason::kForked});
  return srq.Post(request);
}

void Adapter::Kick(QueuePair& qp) {
  if (!impl_->fork_guard.is_child()) impl_->engine.Kick(qp);
}

Result<size_t, queue::CqError> Adapter::Poll(Cq& cq, std::span<Completion> out) {
  auto count = cq.Poll(out);
  if (count && *count == 0 && !impl_->fork_guard.is_child()) {
    const Time now = impl_->engine.Progress(cq);
    count = cq.Poll(out);
    if (count && *count == 0) {
      Idle(cq, now);
      return count;
    }
  }
  Found();
  return count;
}

void Adapter::Progress(Cq& cq) {
  if (impl_->fork_guard.is_child()) return;
  const Time now = impl_->engine.Progress(cq);
  cq.size() > 0 ? Found() : Idle(cq, now);
}

// A thread that polled continuously may do something else now.
void Adapter::Found() {
  if (backoff.OnWork()) [[unlikely]] {
    impl_->engine.ClearYield();
  }
}

// A program that polls an armed queue is about to sleep.
void Adapter::Idle(const Cq& cq, Time now) {
  if (cq.is_armed()) return;
  if (backoff.WantsTime()) [[unlikely]] {
    backoff.OnTimed(Now() - now);
  }
  const PollBackoff::Step step = backoff.OnEmpty(now);
  if (step != PollBackoff::Step::kSpin) {
    const auto hold = impl_->engine.OtherHold();
    if (hold && backoff.OnTaken(*hold, now)) {
      return backoff.OnLockFree(impl_->engine.SleepOnLock(now, PollBackoff::kNap));
    }
  }
  switch (step) {
    case PollBackoff::Step::kSpin:
      return;
    case PollBackoff::Step::kYield:
      return backoff.OnYielded(now, impl_->engine.Yield(now), WasPreempted);
    case PollBackoff::Step::kNap:
      return backoff.OnNapped(impl_->engine.Nap(now, PollBackoff::kNap));
  }
}

void Adapter::RequestNotify(Cq& cq, queue::CompletionQueue::Wanted wanted) {
  if (impl_->fork_guard.is_child()) return;
  cq.ArmForEvent(wanted);
  // A thread that waits for events makes the progress itself.
  if (cq.channel() == nullptr || !cq.channel()->serves_itself()) impl_->progress_thread.Arm();
}

Cq* Adapter::Wait(CompletionChannel& channel) {
  const CompletionChannel::Waiter waiter(channel);
  Cq* const cq = impl_->waits.Wait(channel);
  if (cq != nullptr && channel.serves_itself()) backoff.OnEvent();
  return cq;
}

}  // namespace verbena::adapter
