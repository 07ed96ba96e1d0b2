#include "sim/endnode.h"

#include <numeric>

#include "base/check.h"

namespace verbena::sim {
namespace {

using memory::Rights;

constexpr Rights kLocal = Rights::kLocalRead | Rights::kLocalWrite;
// A slot lies in that many pages at most.
constexpr uint32_t kLoanPagesMax = 3;

std::vector<uint32_t> AllSlots(uint32_t count) {
  std::vector<uint32_t> slots(count);
  std::iota(slots.begin(), slots.end(), 0);
  return slots;
}

transport::RcConfig ConfigOf(const Swarm& swarm, memory::PdId pd, wire::QpNumber number,
                             wire::QpNumber peer) {
  transport::RcConfig config;
  config.local_qp = number;
  config.remote_qp = peer;
  config.path_mtu = swarm.path_mtu;
  config.who = {pd, memory::QpNumber(number.value())};
  config.ack_timeout = swarm.ack_timeout;
  config.retry_count = static_cast<uint8_t>(swarm.retry_count);
  config.rnr_retry = static_cast<uint8_t>(swarm.rnr_retry);
  config.max_rd_atomic = config.max_dest_rd_atomic = static_cast<uint8_t>(swarm.depth);
  config.min_rnr_timer = wire::RnrTimerAtLeast(swarm.rnr_timer);
  config.registration = transport::RegistrationMode::kAnticipatory;
  config.remote_rights = Rights::kRemote;
  config.page_service_estimate = swarm.page_service_estimate;
  return config;
}

}  // namespace

Endnode::Endnode(const Swarm& swarm, uint32_t node_number, Random& random)
    : number(node_number), core({.key_slots_max = 4096, .seed = random.Next64()}), outbox(64) {
  consumer = *core.consumers.Open({});
  pd = *core.domains.Allocate(consumer);
  counters = MakePlot({.bytes = kPage, .rights = kLocal | Rights::kRemoteAtomic}, random);
  counters->Store(0, std::vector<std::byte>(kCounters * sizeof(uint64_t)));
  // Their values are for the oracle of atomics.
  counters->Allow(1, 0, std::vector<std::byte>(kCounters * sizeof(uint64_t)), true);
  atomics.resize(kCounters);
  if (!swarm.shared_receives) return;
  const uint32_t slots = swarm.slots * 2;
  srq = std::make_unique<queue::SharedReceiveQueue>(slots, ReceivePool::kSges);
  pool =
      ReceivePool(MakePlot({.bytes = uint64_t{slots} * swarm.slot_bytes, .rights = kLocal}, random),
                  slots, swarm.slot_bytes, true);
}

std::unique_ptr<Plot> Endnode::MakePlot(const Plot::Options& options, Random& random) {
  auto plot = std::make_unique<Plot>(core, pd, options, random);
  pager.Add(plot->keys().local, *plot, 0, Pager::Kind::kLinear);
  access.Add(plot->keys().remote,
             {.start = Plot::kBase, .length = plot->size(), .rights = options.rights});
  return plot;
}

bool Endnode::Deregister(Plot& plot) {
  if (!plot.Deregister(core)) return false;
  pager.Remove(plot.keys().local);
  access.Remove(plot.keys().remote);
  return true;
}

void Endnode::Release(Plot& plot) { CHECK(!plot.is_registered() || Deregister(plot)); }

void Endnode::Close(Findings& findings) {
  for (uint32_t i = 0; i < kCounters; ++i) {
    uint64_t value = 0;
    std::memcpy(&value, counters->At(i * sizeof value), sizeof value);
    atomics[i].Check(value, findings);
  }
  counters->shadow().Check(findings);
  Release(*counters);
  if (pool.plot() != nullptr) {
    pool.plot()->shadow().Check(findings);
    Release(*pool.plot());
  }
  if (srq && !srq->IsConsistent()) findings.Add("leaks", "the shared receive queue is broken");
  if (!core.domains.Deallocate(pd).has_value() || !core.consumers.Close(consumer).has_value()) {
    findings.Add("leaks", "something still belongs to a protection domain");
  }
}

Side::Side(const Swarm& swarm, Endnode& endnode, wire::QpNumber own, wire::QpNumber peer,
           Random& random)
    : node(&endnode),
      number(own),
      local(endnode.MakePlot({.bytes = uint64_t{swarm.slots} * swarm.slot_bytes,
                              .rights = kLocal,
                              .can_vanish = swarm.unmapping > 0},
                             random)),
      // One slot more than is handed out: its last bytes are a word for atomics.
      exposed(endnode.MakePlot({.bytes = uint64_t{swarm.slots + 1} * swarm.slot_bytes,
                                .rights = kLocal | Rights::kRemote | Rights::kWindowBind,
                                .can_vanish = swarm.unmapping > 0},
                               random)),
      send_queue({.capacity = 32, .sges_max = 3, .inline_max = 64, .pages_max = kLoanPagesMax}),
      receive_queue({.capacity = swarm.slots, .sges_max = ReceivePool::kSges}),
      send_cq(256),
      receive_cq(256),
      free_local(AllSlots(swarm.slots)),
      free_exposed(AllSlots(swarm.slots)),
      faults(swarm) {
  if (!node->srq) {
    own_pool = ReceivePool(node->MakePlot({.bytes = uint64_t{swarm.slots} * swarm.slot_bytes,
                                           .rights = kLocal,
                                           .can_vanish = swarm.unmapping > 0},
                                          random),
                           swarm.slots, swarm.slot_bytes, false);
  }
  qp = std::make_unique<transport::RcQp>(ConfigOf(swarm, node->pd, own, peer), send_queue, Source(),
                                         send_cq, receive_cq);
}

Loan* Side::FindLoan(uint64_t id) {
  for (const auto& loan : loans) {
    if (loan->id == id) return loan.get();
  }
  return nullptr;
}

void Side::Crash(Time now) {
  transport::Turn turn{now, node->core, node->outbox};
  qp->BecomeFailed();
  qp->Run(turn);
  node->outbox.Clear();
  qp.reset();
}

void Side::Release() {
  qp.reset();
  for (const auto& loan : loans) ReleaseLoan(*loan);
  loans.clear();
  node->Release(*local);
  node->Release(*exposed);
  if (own_pool.plot() != nullptr) node->Release(*own_pool.plot());
}

void Side::ReleaseLoan(const Loan& loan) {
  const auto take = [&](memory::Key key) {
    return loan.is_window() ? node->core.windows.Deallocate(key).has_value()
                            : node->core.regions.Deregister(key).has_value();
  };
  node->access.Remove(loan.key);
  node->access.Remove(loan.next_key);
  node->pager.Remove(loan.key);
  if (loan.kind == Loan::Kind::kRegion && loan.state == Loan::State::kFree) return;
  // A bind or registration that was flushed may have been executed all the same.
  CHECK(take(loan.key) || take(loan.next_key));
}

}  // namespace verbena::sim
