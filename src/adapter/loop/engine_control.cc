// The part of Engine for control calls.

#include <algorithm>
#include <utility>

#include "adapter/loop/engine.h"
#include "base/check.h"
#include "base/when_memory.h"

namespace verbena::adapter {

void Engine::ReadClock() {
  // Times of two threads may differ a little: see CounterClock.
  now_ = std::max(now_, clock_.Now());
  memory.AdvanceTo(now_);
}

ErrorOr<void> Engine::AddEndpoint(std::unique_ptr<fabric::Fabric> fabric) {
  const fabric::EndpointId endpoint = fabric->endpoint();
  if (trace_ != nullptr) fabric->ReportHeaders();
  if (const auto added = endpoints_.Add(std::move(fabric)); !added) return added;
  if (iwarp == nullptr) sockets_.store(endpoints_.fd(), std::memory_order_relaxed);
  qps.AddEndpoint(endpoint);
  return {};
}

void Engine::AddNumbers() {
  fabric::EndpointId endpoint;
  while (qps.Has(endpoint)) endpoint = fabric::EndpointId(uint16_t(endpoint.value() + 1));
  endpoints_.AddAlias(endpoint);
  qps.AddEndpoint(endpoint);
}

void Engine::Warn(const std::string& warning) {
  if (options_.on_urgent_warning) return options_.on_urgent_warning(warning);
  warnings_.push_back(warning);
}

bool Engine::IsConsistent() const {
  const bool tables = qps.IsConsistent() && paths.IsConsistent() && groups.IsConsistent() &&
                      endpoints_.IsConsistent() && paging.IsConsistent() && gsi.IsConsistent();
  const bool lists = run_queue_.IsConsistent() && timers_.IsConsistent() &&
                     run_queue_.size() <= qps.size() && timers_.size() <= qps.size();
  if (iwarp != nullptr && !iwarp->IsConsistent()) return false;
  return tables && lists && outbox_.packets().empty() &&
         std::ranges::all_of(moderated_, [](const Cq* cq) {
           return cq->is_moderated && (cq->channel() == nullptr || cq->channel()->IsConsistent());
         });
}

QueuePair& Engine::AddQp(std::unique_ptr<QueuePair> qp) {
  timers_.Reserve(qps.size() + 1);
  return qps.Insert(std::move(qp));
}

void Engine::RemoveQp(QueuePair& qp) {
  ReadClock();
  // Requests that were posted just before leave if there is room.
  if (MakeRoom(qp)) RunOne(qp);
  Transmit();
  transport::Step step = MakeStep();
  qp.Empty(step);
  DrainOutbox();
  if (iwarp != nullptr) iwarp->Detach(qp, now_);
  // It may be marked in the ready list: drained into the run queue, it is removed with it.
  DrainReady();
  run_queue_.Remove(qp);
  timers_.Remove(qp);
  DCHECK(!qp.is_marked && !qp.is_queued && qp.heap_index == TimerHook::kNowhere);
  qps.Erase(qp.number());
}

void Engine::RemoveReceiver(XrcDomain& domain, const Srq& srq) {
  ReadClock();
  transport::Step step = MakeStep();
  for (QueuePair* const qp : domain.connections) {
    qp->DropReceiver(srq, step);
    run_queue_.Push(*qp);
    if (outbox_.is_crowded()) DrainOutbox();
  }
  domain.receivers.Remove(srq.xrc().number);
  DrainOutbox();
}

Result<TagHandle, queue::TagMatcher::AddError> Engine::ChangeTags(Srq& srq,
                                                                  const TagOperation& operation) {
  ReadClock();
  transport::Step step = MakeStep();
  const auto changed = transport::Execute(operation, *srq.tags(), *srq.tag_cq(), step);
  DrainOutbox();
  return changed;
}

void Engine::ModifyQp(QueuePair& qp, const transport::QpSettings& attributes,
                      transport::AttributeMask mask) {
  ReadClock();
  if (mask.Has(transport::QpAttribute::kState) && attributes.state == QpState::kReset) {
    transport::Step step = MakeStep();
    qp.Empty(step);
    DrainOutbox();
    if (iwarp != nullptr) iwarp->Detach(qp, now_);
  }
  // Requests that were posted before a flushing send queue is resumed are flushed.
  if (mask.Has(transport::QpAttribute::kState) && attributes.state == QpState::kRts &&
      MakeRoom(qp)) {
    RunOne(qp);
  }
  qp.Modify(attributes, mask);
  // Work may have been posted before the state allowed it.
  run_queue_.Push(qp);
  TransmitHalf();
}

void Engine::UpdateModeration(Cq& cq) {
  ReadClock();
  std::erase(moderated_, &cq);
  if (cq.is_moderated) moderated_.push_back(&cq);
  if (cq.OnTime(now_)) RaiseCompletionEvent(cq);
}

void Engine::RemoveCq(Cq& cq) {
  std::erase(moderated_, &cq);
  if (cq.channel() != nullptr) cq.channel()->Forget(cq);
  if (cq.events() != nullptr) {
    cq.events()->Forget([&](const Event& event) { return event.cq == &cq; });
  }
}

void Engine::LookAtAddresses() {
  // If there is no memory to compare the addresses, they count as changed.
  bool changed = true;
  static_cast<void>(WhenMemory([&] { changed = addresses_.HasChanged(); }));
  if (!changed) return;
  transmitter_.ClearPaths();
  events_.RaiseForAll({.type = AsyncEventType::kGidChange});
}

std::vector<std::string> Engine::TakeWarnings() {
  std::vector<std::string> warnings = endpoints_.TakeWarnings();
  for (std::string& warning : std::exchange(warnings_, {})) warnings.push_back(std::move(warning));
  for (std::string& warning : paging.managed.TakeWarnings()) warnings.push_back(std::move(warning));
  if (trace_ != nullptr) {
    for (std::string& warning : trace_->TakeWarnings()) warnings.push_back(std::move(warning));
  }
  return warnings;
}

}  // namespace verbena::adapter
