#include "transport/common/local_work.h"

#include "base/page.h"

namespace verbena::transport {
namespace {

// `status` if the memory tables refuse.
template <class T>
LocalOutcome OutcomeOf(const Result<T, memory::Refusal>& done, CompletionStatus status,
                       Step& step) {
  if (done.has_value()) return {};
  return {status, CountRefusal(NakReason(done.error(), RefusedKey::kOwn), step.refusals)};
}

LocalOutcome Bind(const queue::WindowBind& bind, const memory::Accessor& who, Step& step) {
  const memory::WindowBinding binding{.region = bind.region,
                                      .start = KeyAddress(bind.start),
                                      .length = bind.length,
                                      .rights = bind.rights,
                                      .zero_based = bind.zero_based,
                                      .one_touch = bind.one_touch,
                                      .variant = bind.variant,
                                      .by_index = bind.by_index};
  return OutcomeOf(step.memory.windows.Bind(bind.window, binding, who),
                   CompletionStatus::kWindowBindError, step);
}

LocalOutcome Register(const queue::RegistrationOperand& registration,
                      std::span<const memory::PhysicalAddress> pages, const memory::Accessor& who,
                      Step& step) {
  if (registration.page_shift < PageShift::kMin || registration.page_shift > PageShift::kMax) {
    return {CompletionStatus::kLocalQpOperationError};
  }
  const memory::RegionSpec spec{.pd = who.pd,
                                .start = KeyAddress(registration.start),
                                .length = registration.length,
                                .rights = registration.rights,
                                .zero_based = registration.zero_based,
                                .one_touch = registration.one_touch};
  const memory::PageListBacking backing{.pages = pages,
                                        .first_offset = registration.first_offset,
                                        .page_shift = PageShift(registration.page_shift)};
  return OutcomeOf(step.memory.regions.RegisterReserved(registration.key, spec, backing, who),
                   CompletionStatus::kLocalQpOperationError, step);
}

}  // namespace

LocalOutcome ExecuteLocally(const queue::SendWqe& wqe,
                            std::span<const memory::PhysicalAddress> pages,
                            const memory::Accessor& who, Step& step) {
  switch (wqe.opcode) {
    case queue::SendOpcode::kBindWindow:
      return Bind(wqe.As<queue::WindowBind>(), who, step);
    case queue::SendOpcode::kRegister:
    case queue::SendOpcode::kRegisterAndSend:
      return Register(wqe.As<queue::RegistrationOperand>(), pages, who, step);
    case queue::SendOpcode::kLocalInvalidate: {
      const Key key(wqe.invalidate.value());
      return OutcomeOf(step.memory.Invalidate(key, memory::Origin::kLocal, who),
                       CompletionStatus::kLocalProtectionError, step);
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

LocalOutcome LocalWork::Execute(queue::WqeNumber n, RegistrationMode registration,
                                const memory::Accessor& who, Step& step) {
  const queue::SendWqe& wqe = queue_.At(n);
  const queue::SendProperties& properties = queue::PropertiesOf(wqe.opcode);
  if (!properties.is_local && !properties.registers) return {};
  if (properties.registers && registration == RegistrationMode::kDisabled) {
    return {CompletionStatus::kLocalQpOperationError};
  }
  pages_.clear();
  for (const uint64_t page : queue_.PagesAt(n)) pages_.emplace_back(page);
  return ExecuteLocally(wqe, pages_, who, step);
}

}  // namespace verbena::transport
