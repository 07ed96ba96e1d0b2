// Keys that programs lend each other, and take away.

#include <algorithm>

#include "base/check.h"
#include "sim/noise.h"
#include "sim/workload.h"

namespace verbena::sim {
namespace {

using memory::Rights;
using queue::SendOpcode;

constexpr Rights kLentRights = Rights::kRemoteRead | Rights::kRemoteWrite;
constexpr Rights kRegionRights = kLentRights | Rights::kLocalRead | Rights::kLocalWrite;
constexpr uint64_t kLoanPagesMax = 3;

bool HasRoom(const Side& side) {
  const uint64_t posted = side.send_queue().end().value() - side.send_queue().begin().value();
  return posted < side.send_queue().limits().capacity;
}

memory::WindowType WindowTypeOf(Loan::Kind kind) { return static_cast<memory::WindowType>(kind); }
static_assert(static_cast<int>(Loan::Kind::kWindow2B) ==
              static_cast<int>(memory::WindowType::kType2B));

memory::Accessor WhoIs(const Side& side) {
  return {side.node->pd, memory::QpNumber(side.number.value())};
}

}  // namespace

// A loan that is not lent, or another one.
Loan* Workload::FreeLoan(Side& side) {
  for (const auto& known : side.loans) {
    const bool is_possible = !known->is_window() || side.exposed->is_registered();
    if (known->state == Loan::State::kFree && is_possible) return known.get();
  }
  if (side.loans.size() == swarm_.loans_max) return nullptr;
  const bool is_region = random_.Chance(swarm_.registration, 1000);
  if (!is_region && !side.exposed->is_registered()) return nullptr;
  side.loans.push_back(std::make_unique<Loan>());
  Loan& loan = *side.loans.back();
  loan.kind = static_cast<Loan::Kind>(is_region ? 3 + random_.Below(2) : random_.Below(3));
  MakeLoan(side, loan);
  return &loan;
}

void Workload::MakeLoan(Side& side, Loan& loan) {
  loan.id = next_id_++;
  if (loan.is_window()) {
    loan.key = *side.node->core.windows.Allocate(side.node->pd, WindowTypeOf(loan.kind));
  } else if (loan.kind == Loan::Kind::kQuickRegion) {
    loan.key =
        side.node->core.regions.Reserve(side.node->pd, kLoanPagesMax, PageShift(PageShift::kMin))
            ->local;
  }
}

// Lends a free slot to the peer. False when that took no work request, or cannot be done.
bool Workload::DraftLoan(Connection& connection, int from, Draft& draft) {
  Side& side = connection.side(from);
  if (side.is_swapped_out || side.free_exposed.empty()) return false;
  Loan* const loan = FreeLoan(side);
  if (loan == nullptr) return false;
  loan->slot = side.free_exposed.back();
  side.free_exposed.pop_back();
  loan->one_touch = random_.Chance(swarm_.one_touch, 1000);
  loan->zero_based = random_.Chance(1, 4);
  if (!loan->is_by_work_request()) {
    LendByCall(side, *loan, connection.is_spared || random_.Chance(1, 2));
    return false;
  }
  loan->state = Loan::State::kComing;
  draft.operation->loan = loan->id;
  if (loan->is_window()) {
    DraftBind(side, *loan, draft);
  } else {
    DraftRegister(connection, from, *loan, draft);
  }
  draft.operation->lent = loan->next_key.value();
  GrantLoan(side, *loan, loan->next_key);
  return true;
}

// From now on the key may be good.
void Workload::GrantLoan(Side& side, const Loan& loan, memory::Key key) {
  AccessOracle::Grant grant{.start = loan.zero_based ? 0 : Plot::kBase + SlotAt(loan.slot),
                            .length = swarm_.slot_bytes,
                            .rights = kLentRights};
  if (loan.is_window()) grant.region = side.exposed->keys().remote;
  if (loan.is_window() && loan.kind != Loan::Kind::kWindow1) grant.only = side.number;
  side.node->access.Add(key, grant);
}

// By call, with its pages there or not yet.
void Workload::LendByCall(Side& side, Loan& loan, bool is_present) {
  side.node->access.Remove(loan.key);
  const uint64_t start = Plot::kBase + SlotAt(loan.slot);
  if (loan.is_window()) {
    const auto bound = side.node->core.windows.Bind(loan.key,
                                                    {.region = side.exposed->keys().local,
                                                     .start = memory::KeyAddress(start),
                                                     .length = swarm_.slot_bytes,
                                                     .rights = kLentRights,
                                                     .zero_based = loan.zero_based,
                                                     .one_touch = loan.one_touch},
                                                    WhoIs(side));
    CHECK(bound.has_value());
    loan.key = *bound;
  } else {
    const auto keys = side.node->core.regions.Register(
        {.pd = side.node->pd,
         .start = memory::KeyAddress(loan.zero_based ? 0 : start),
         .length = swarm_.slot_bytes,
         .rights = kRegionRights,
         .zero_based = loan.zero_based,
         .one_touch = loan.one_touch},
        memory::LinearBacking{.base = side.exposed->AddressOf(SlotAt(loan.slot))});
    CHECK(keys.has_value());
    loan.key = keys->remote;  // and local: they are the same
    const uint64_t first = SlotAt(loan.slot) / kPage;
    const uint64_t last = (SlotAt(loan.slot) + swarm_.slot_bytes - 1) / kPage;
    side.node->pager.Add(loan.key, *side.exposed, first, Paging::Kind::kLinear);
    if (is_present) {
      CHECK(side.node->core.regions.MapPages(loan.key, 0, last - first + 1, {}, true).has_value());
    }
  }
  loan.state = Loan::State::kGood;
  GrantLoan(side, loan, loan.key);
}

void Workload::DraftBind(Side& side, Loan& loan, Draft& draft) {
  const auto variant = static_cast<uint8_t>(loan.key.variant().value() + 1);
  loan.next_key = memory::Key(loan.key.index(), memory::Variant(variant));
  draft.wqe.opcode = SendOpcode::kBindWindow;
  draft.wqe.operand =
      queue::WindowBind{.window = queue::KeyValue(loan.key.value()),
                        .region = queue::KeyValue(side.exposed->keys().local.value()),
                        .start = Plot::kBase + SlotAt(loan.slot),
                        .length = swarm_.slot_bytes,
                        .variant = variant,
                        .rights = kLentRights.bits(),
                        .zero_based = loan.zero_based,
                        .one_touch = loan.one_touch};
}

// Alone, or with a message to the peer behind it.
void Workload::DraftRegister(Connection& connection, int from, Loan& loan, Draft& draft) {
  Side& side = connection.side(from);
  const auto variant = static_cast<uint8_t>(loan.key.variant().value() + 1);
  loan.next_key =
      loan.was_used ? memory::Key(loan.key.index(), memory::Variant(variant)) : loan.key;
  loan.was_used = true;
  const uint64_t first = SlotAt(loan.slot) / kPage;
  const uint64_t last = (SlotAt(loan.slot) + swarm_.slot_bytes - 1) / kPage;
  for (uint64_t page = first; page <= last; ++page) {
    draft.pages.push_back(side.exposed->AddressOf(page * kPage).value());
  }
  side.node->pager.Add(loan.next_key, *side.exposed, first, Paging::Kind::kPageList);
  draft.wqe.opcode = SendOpcode::kRegister;
  draft.wqe.operand =
      queue::Registration{.key = queue::KeyValue(loan.next_key.value()),
                          .rights = kRegionRights.bits(),
                          .page_shift = PageShift::kMin,
                          .zero_based = loan.zero_based,
                          .one_touch = loan.one_touch,
                          .start = loan.zero_based ? 0 : Plot::kBase + SlotAt(loan.slot),
                          .length = swarm_.slot_bytes,
                          .first_offset = SlotAt(loan.slot) % kPage};
  if (random_.Chance(1, 2) || !side.local->is_registered() || !TakeLocal(side, draft)) return;
  draft.wqe.opcode = SendOpcode::kRegisterAndSend;
  draft.operation->bytes = Noise(random_, SomeLength());
  Gather(side, draft);
}

// One that a work request of either side may end, and that nobody is using.
Loan* Workload::SomeIdleLoan(Side& side) {
  for (const auto& loan : side.loans) {
    const bool may_end = loan->state == Loan::State::kGood && !loan->one_touch &&
                         loan->is_by_work_request() && loan->user == nullptr;
    if (may_end && !side.is_swapped_out) return loan.get();
  }
  return nullptr;
}

bool Workload::DraftInvalidate(Connection& connection, int from, Draft& draft) {
  Loan* const loan = SomeIdleLoan(connection.side(from));
  if (loan == nullptr) return false;
  loan->state = Loan::State::kEnding;
  draft.operation->loan = loan->id;
  draft.wqe.opcode = SendOpcode::kLocalInvalidate;
  draft.wqe.invalidate = queue::KeyValue(loan->key.value());
  return true;
}

// A work request of our own on a loan has ended.
void Workload::LoanWorkEnded(Side& side, Operation& operation, bool well) {
  Loan* const loan = side.FindLoan(operation.loan);
  if (loan == nullptr || !well) return;
  if (operation.lent != 0) {
    Lent(side, *loan, operation);
  } else if (operation.opcode == SendOpcode::kLocalInvalidate) {
    Returned(side, *loan);
  }
}

// The peer may use it; if it has not, and given it back, since the message came.
void Workload::Lent(Side& owner, Loan& loan, const Operation& operation) {
  if (loan.state != Loan::State::kComing || loan.next_key.value() != operation.lent) return;
  // The adapter has forgotten what the key was before.
  if (loan.key != loan.next_key) owner.node->access.Remove(loan.key);
  loan.key = loan.next_key;
  loan.state = Loan::State::kGood;
}

// The key is dead: what goes through it from now on is not granted.
void Workload::Returned(Side& owner, Loan& loan) {
  loan.state = Loan::State::kFree;
  owner.node->access.Remove(loan.key);
  if (loan.kind == Loan::Kind::kRegion) {
    CHECK(owner.node->core.regions.Deregister(loan.key).has_value());
    owner.node->pager.Remove(loan.key);
  }
  if (loan.user != nullptr) {
    // Its slot is not used again, since the peer may yet succeed.
    loan.user->is_forbidden = true;
    owner.exposed->shadow().Forbid(loan.user->id);
    owner.exposed->shadow().Check(findings_);
    loan.user = nullptr;
    return;
  }
  owner.free_exposed.push_back(loan.slot);
}

// It was good for one message, which has come.
void Workload::Spent(Side& owner, Loan& loan, const Operation& operation) {
  const memory::Key key = loan.key;
  const auto kept = owner.node->access.Find(key);
  Returned(owner, loan);
  if (operation.opcode != SendOpcode::kRead || loan.kind == Loan::Kind::kRegion || !kept) return;
  owner.node->access.Add(key, *kept);
  owner.node->access.Spend(key);
}

// Whether or not it is in use.
void Workload::EndSomeLoan(Connection& connection, int owner, Time now) {
  Side& side = connection.side(owner);
  if (side.loans.empty() || side.is_swapped_out) return;
  Loan& loan = *side.loans[random_.Below(side.loans.size())];
  if (loan.state != Loan::State::kGood) return;
  const bool may_post = !loan.one_touch && HasRoom(side);
  if (loan.is_by_work_request() && !may_post) return;
  if (loan.user != nullptr) {
    loan.user->is_endangered = true;
    connection.is_provoked = true;
  }
  if (loan.kind == Loan::Kind::kWindow1) {
    const auto unbound = side.node->core.windows.Bind(loan.key, {}, WhoIs(side));
    CHECK(unbound.has_value());
    Returned(side, loan);
    loan.key = *unbound;
  } else if (loan.kind == Loan::Kind::kRegion) {
    Returned(side, loan);
  } else {
    loan.state = Loan::State::kEnding;
    Draft draft;
    draft.operation->id = next_id_++;
    draft.operation->loan = loan.id;
    draft.wqe.opcode = SendOpcode::kLocalInvalidate;
    draft.wqe.invalidate = queue::KeyValue(loan.key.value());
    Submit(connection, owner, draft, now);
  }
}

// What goes through the region of the exposed memory, or a window on it, is not granted any more.
void Workload::LoseExposed(Connection& connection, int owner) {
  Side& side = connection.side(owner);
  for (const auto& operation : connection.side(1 - owner).sends.posted()) {
    if (!operation->needs_exposed) continue;
    operation->is_endangered = true;
    side.exposed->shadow().Forbid(operation->id);
  }
  // Its own work requests on windows may be refused, too.
  for (const auto& operation : side.sends.posted()) operation->is_endangered = true;
  connection.is_provoked = true;
  side.exposed->shadow().Check(findings_);
}

void Workload::SwapOut(Connection& connection, int owner) {
  Side& side = connection.side(owner);
  if (side.is_swapped_out || !side.exposed->is_registered()) return;
  CHECK(side.node->core.regions.SwapOut(side.exposed->keys().local).has_value());
  side.node->access.Suspend(side.exposed->keys().remote, true);
  side.is_swapped_out = true;
  LoseExposed(connection, owner);
}

void Workload::SwapIn(Connection& connection, int owner) {
  Side& side = connection.side(owner);
  if (!side.is_swapped_out) return;
  side.exposed->shadow().Check(findings_);
  CHECK(side.node->core.regions.SwapIn(side.exposed->keys().local).has_value());
  side.node->access.Suspend(side.exposed->keys().remote, false);
  side.is_swapped_out = false;
  for (const auto& operation : connection.side(1 - owner).sends.posted()) {
    const bool may = operation->fate == Fate::kSuccess && !operation->is_forbidden;
    if (may) side.exposed->shadow().AllowAgain(operation->id);
  }
}

// A program gives up memory that its adapter may be working on. The shared receive buffers and the
// counters stay: they are not of this connection alone.
void Workload::DeregisterSome(Connection& connection, int owner) {
  Side& side = connection.side(owner);
  Plot* const plots[] = {side.local.get(), side.exposed.get(), side.own_pool.plot()};
  Plot* const plot = plots[random_.Below(3)];
  if (plot == nullptr || !plot->is_registered() || side.is_swapped_out) return;
  const auto is_bound = [](const auto& loan) {
    return loan->is_window() && loan->state == Loan::State::kGood && !loan->one_touch;
  };
  const bool must_be_refused =
      plot == side.exposed.get() && std::ranges::any_of(side.loans, is_bound);
  if (!side.node->Deregister(*plot)) return;
  if (must_be_refused) findings_.Add("access", "a region has gone while a window was bound to it");
  connection.has_lost_memory = connection.is_provoked = true;
  if (plot == side.exposed.get()) return LoseExposed(connection, owner);
  plot->shadow().Close();
  plot->shadow().Check(findings_);
}

// Some of its pages go, and the tables do not hear of it.
void Workload::UnmapSome(Connection& connection, int owner) {
  Side& side = connection.side(owner);
  Plot* const plots[] = {side.local.get(), side.exposed.get(), side.own_pool.plot()};
  Plot* const plot = plots[random_.Below(3)];
  if (plot == nullptr) return;
  const uint64_t first = random_.Below(plot->pages());
  plot->Vanish(first, 1 + random_.Below(plot->pages() - first));
  connection.has_lost_memory = connection.is_provoked = true;
}

}  // namespace verbena::sim
