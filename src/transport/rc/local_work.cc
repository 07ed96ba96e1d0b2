#include "transport/rc/local_work.h"

#include "base/page.h"

namespace verbena::transport {
namespace {

using queue::CompletionStatus;

// `status` if the tables refuse.
template <class T>
LocalOutcome OutcomeOf(const Result<T, memory::Denial>& done, CompletionStatus status, Turn& turn) {
  if (done.has_value()) return {};
  return {status, CountRefusal(Cause(done.error(), DeniedKey::kOwn), turn.refusals)};
}

LocalOutcome Bind(const queue::WindowBind& bind, const memory::Accessor& who, Turn& turn) {
  const memory::WindowBinding binding{.region = memory::Key(bind.region.value()),
                                      .start = memory::KeyAddress(bind.start),
                                      .length = bind.length,
                                      .rights = memory::Rights::FromBits(bind.rights),
                                      .zero_based = bind.zero_based,
                                      .one_touch = bind.one_touch,
                                      .instance = memory::Instance(bind.instance),
                                      .by_index = bind.by_index};
  return OutcomeOf(turn.memory.windows.Bind(memory::Key(bind.window.value()), binding, who),
                   CompletionStatus::kWindowBindError, turn);
}

LocalOutcome Register(const queue::Registration& registration,
                      std::span<const memory::PhysicalAddress> pages, const memory::Accessor& who,
                      Turn& turn) {
  if (registration.page_shift < PageShift::kMin || registration.page_shift > PageShift::kMax) {
    return {CompletionStatus::kLocalQpOperationError};
  }
  const memory::RegionSpec spec{.pd = who.pd,
                                .start = memory::KeyAddress(registration.start),
                                .length = registration.length,
                                .rights = memory::Rights::FromBits(registration.rights),
                                .zero_based = registration.zero_based,
                                .one_touch = registration.one_touch};
  const memory::PageListBacking backing{.pages = pages,
                                        .first_offset = registration.first_offset,
                                        .page_shift = PageShift(registration.page_shift)};
  return OutcomeOf(turn.memory.regions.RegisterReserved(memory::Key(registration.key.value()), spec,
                                                        backing, who),
                   CompletionStatus::kLocalQpOperationError, turn);
}

}  // namespace

LocalOutcome ExecuteLocally(const queue::SendWqe& wqe,
                            std::span<const memory::PhysicalAddress> pages,
                            const memory::Accessor& who, Turn& turn) {
  switch (wqe.opcode) {
    case queue::SendOpcode::kBindWindow:
      return Bind(wqe.As<queue::WindowBind>(), who, turn);
    case queue::SendOpcode::kRegister:
    case queue::SendOpcode::kRegisterAndSend:
      return Register(wqe.As<queue::Registration>(), pages, who, turn);
    case queue::SendOpcode::kLocalInvalidate: {
      const memory::Key key(wqe.invalidate.value());
      return OutcomeOf(turn.memory.Invalidate(key, memory::Origin::kLocal, who),
                       CompletionStatus::kLocalProtectionError, turn);
    }
    case queue::SendOpcode::kSend:
    case queue::SendOpcode::kSendWithImmediate:
    case queue::SendOpcode::kSendWithInvalidate:
    case queue::SendOpcode::kWrite:
    case queue::SendOpcode::kWriteWithImmediate:
    case queue::SendOpcode::kRead:
    case queue::SendOpcode::kCompareAndSwap:
    case queue::SendOpcode::kFetchAndAdd:
    case queue::SendOpcode::kAtomicWrite:
    case queue::SendOpcode::kFlush:
    case queue::SendOpcode::kDelay:
      return {};
  }
  return {CompletionStatus::kLocalQpOperationError};
}

}  // namespace verbena::transport
