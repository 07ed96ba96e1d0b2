// Work requests of a LiveQp and their completions.

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/check.h"
#include "fuzz/queue_pair/live_qp.h"

namespace verbena::fuzz {
namespace {

using queue::SendOpcode;

// The data of inline requests, whose SGEs have addresses of the process.
constexpr std::array<std::byte, 64> kInlined{};

}  // namespace

// Some SGEs extend beyond the guarded memory; a message that reaches that far is refused. `written`
// gets the bytes that a request may write.
std::vector<Sge> LiveQp::ChooseSges(uint32_t most, uint64_t id, std::vector<Piece>* written) {
  std::vector<Sge> sges;
  const uint64_t count = choices_.Below(most + 1);
  for (uint64_t i = 0; i < count; ++i) {
    sim::GuardedMemory& guarded = Rarely(choices_, 8) ? *exposed_ : *local_;
    const uint64_t offset = choices_.Below(guarded.size());
    const uint64_t length = choices_.OneOf<uint64_t>(
        {8, 0, swarm_.path_mtu, 3 * swarm_.path_mtu + 1, choices_.Below(swarm_.path_mtu)});
    sges.push_back(guarded.Bytes(offset, length));
    if (written == nullptr || length == 0) continue;
    const uint64_t piece = id * kSges + i;
    if (&guarded == exposed_.get()) named_.push_back({offset, length});
    guarded.Allow(piece, offset, Bytes(std::min(length, guarded.size() - offset)), true);
    written->push_back({&guarded, piece});
  }
  return sges;
}

RemoteAddress LiveQp::ChooseRemote() {
  return {choices_.Below(1 << 16), Key(static_cast<uint32_t>(choices_.Below(1 << 8)))};
}

LiveQp::Binding LiveQp::ChooseBinding(const Window& window) {
  const Key key = window.now.key;
  const uint64_t offset = choices_.Below(kGuardedBytes);
  return {.key = NextKey(key),
          .offset = offset,
          .length = 1 + choices_.Below(kGuardedBytes - offset),
          .rights = choices_.OneOf({Access::kRemote, Access::kRemoteWrite, Access::kRemoteRead})};
}

// The key may be valid from this call on.
void LiveQp::Grant(Binding& binding) {
  binding.grant = next_id_++ * kSges;
  const uint64_t start = sim::GuardedMemory::kBase + binding.offset;
  if (binding.rights.HasAny(Access::kRemoteWrite | Access::kRemoteAtomic)) {
    exposed_->Allow(binding.grant, binding.offset, Bytes(binding.length), true);
  }
  node_.access.Add(binding.key,
                   {.start = start, .length = binding.length, .rights = binding.rights});
  peer_.targets.push_back({binding.key.value(), start, binding.length});
}

// The key is invalid from this call on.
void LiveQp::End(Binding& binding) {
  exposed_->shadow().Finish(binding.grant, false, "", findings_);
  node_.access.Remove(binding.key);
  binding.grant = 0;
}

void LiveQp::End(std::vector<Piece>& pieces, sim::Findings& findings) {
  for (const Piece& piece : pieces) piece.guarded->shadow().Finish(piece.id, false, "", findings);
  pieces.clear();
}

void LiveQp::DraftBind(queue::SendWqe& wqe) {
  if (windows_.empty()) {
    wqe.operand = queue::WindowBind{};
    return;
  }
  const size_t window = choices_.Below(windows_.size());
  KeyWork work{window, ChooseBinding(windows_[window])};
  wqe.operand = queue::WindowBind{.window = windows_[window].now.key,
                                  .region = exposed_->keys().local,
                                  .start = sim::GuardedMemory::kBase + work.next.offset,
                                  .length = work.next.length,
                                  .variant = work.next.key.variant(),
                                  .rights = work.next.rights};
  Grant(work.next);
  key_work_.emplace(wqe.id.value(), work);
}

void LiveQp::DraftInvalidate(queue::SendWqe& wqe) {
  if (windows_.empty()) return;
  const size_t window = choices_.Below(windows_.size());
  wqe.invalidate = windows_[window].now.key;
  key_work_.emplace(wqe.id.value(), KeyWork{window, {}});
}

void LiveQp::ChooseOperand(queue::SendWqe& wqe) {
  switch (wqe.opcode) {
    case SendOpcode::kSend:
    case SendOpcode::kSendWithImmediate:
      if (type_ == QpType::kUd) {
        const fabric::EndpointId endpoint(static_cast<uint16_t>(choices_.Below(2)));
        wqe.operand = Datagram{.handle = AddressHandleId(static_cast<uint32_t>(choices_.Below(3))),
                               .qp = QpNumber(adapter::MakeQpNumber(endpoint, 5).value()),
                               .q_key = sim::Endnode::kQKey};
      }
      break;
    case SendOpcode::kSendWithInvalidate:
      wqe.invalidate = ChooseRemote().key;
      break;
    case SendOpcode::kWrite:
    case SendOpcode::kWriteWithImmediate:
    case SendOpcode::kRead:
    case SendOpcode::kAtomicWrite:
      wqe.operand = ChooseRemote();
      break;
    case SendOpcode::kCompareAndSwap:
    case SendOpcode::kFetchAndAdd:
      wqe.operand = queue::Atomic{.remote = {0x1000, Key(1)}};
      break;
    case SendOpcode::kFlush:
      wqe.operand = queue::FlushOperand{.remote = ChooseRemote(), .length = 8, .persistence = true};
      break;
    case SendOpcode::kBindWindow:
      DraftBind(wqe);
      break;
    case SendOpcode::kLocalInvalidate:
      DraftInvalidate(wqe);
      break;
    case SendOpcode::kRegister:
    case SendOpcode::kRegisterAndSend:
      wqe.operand = queue::RegistrationOperand{.key = ChooseRemote().key, .page_shift = 12};
      break;
    case SendOpcode::kDelay:
      wqe.operand = queue::DelayOperand{Microseconds(100)};
      break;
  }
}

void LiveQp::PostSend() {
  if (qp_->RefusesSends()) return;
  const uint64_t id = next_id_++;
  queue::SendWorkRequest request;
  request.wqe.id = WrId(id);
  request.wqe.opcode = static_cast<SendOpcode>(choices_.Below(queue::kSendOpcodeCount));
  const uint64_t flags = choices_.Below(32);
  request.wqe.flags = {.signaled = (flags & 3) != 3,
                       .solicited = (flags & 4) != 0,
                       .fence = (flags & 8) != 0,
                       .inlined = (flags & 16) != 0};
  request.wqe.remote_srq = SrqNumber(7);
  ChooseOperand(request.wqe);
  const queue::SendProperties& properties = queue::PropertiesOf(request.wqe.opcode);
  std::vector<Piece> written;
  std::vector<Sge> sges;
  if (request.wqe.flags.inlined) {
    sges.push_back({reinterpret_cast<uintptr_t>(kInlined.data()),
                    static_cast<uint32_t>(choices_.Below(kInlined.size() + 1)),
                    {}});
  } else {
    sges = ChooseSges(kSges, id, properties.carries_payload ? nullptr : &written);
  }
  request.sges = sges;
  const auto posted = qp_->send_queue().Post(request);
  if (prints_) {
    std::fprintf(stderr, "%s %s\n", posted ? "posted" : "refused", NameOf(request.wqe.opcode));
  }
  if (!posted) {
    End(written, findings_);
    const auto work = key_work_.extract(id);
    if (work && work.mapped().next.grant != 0) End(work.mapped().next);
    return;
  }
  auto operation = std::make_shared<sim::Operation>();
  operation->id = id;
  operation->opcode = request.wqe.opcode;
  operation->is_signaled = request.wqe.flags.signaled;
  sends_.Posted(std::move(operation));
  written_.emplace(id, std::move(written));
  node_.Kick(*qp_, (flags & 4) != 0);
}

void LiveQp::PostReceive() {
  Receive receive{.id = next_id_++, .pieces = {}};
  const std::vector<Sge> sges = ChooseSges(kSges, receive.id, &receive.pieces);
  const queue::ReceiveWorkRequest request{.wqe = {WrId(receive.id)}, .sges = sges};
  const bool is_posted =
      srq_ != nullptr ? srq_->Post(request).has_value()
                      : !qp_->RefusesReceives() && qp_->receive_queue().Post(request).has_value();
  Print(is_posted ? "posted a receive" : "refused a receive");
  if (!is_posted) return End(receive.pieces, findings_);
  receives_.push_back(std::move(receive));
  if (qp_->must_run_for_receives()) node_.Kick(*qp_, /*polls=*/false);
}

void LiveQp::PollAll() {
  Completion completion;
  while (*send_cq_.Poll({&completion, 1}) == 1) OnSendDone(completion);
  while (*receive_cq_.Poll({&completion, 1}) == 1) OnReceiveDone(completion);
}

void LiveQp::OnSendDone(const Completion& completion) {
  if (prints_) {
    std::fprintf(stderr, "send %lu: %s\n", completion.id.value(), NameOf(completion.status));
  }
  const auto done = [&](const sim::Operation& operation, bool) {
    if (auto written = written_.extract(operation.id)) End(written.mapped(), findings_);
    OnKeyWorkDone(operation, completion);
  };
  sends_.Completed(completion, {.is_attacked = true}, findings_, done);
}

// A flushed request may have been executed, so its key may be valid or not.
void LiveQp::OnKeyWorkDone(const sim::Operation& operation, const Completion& completion) {
  const auto work = key_work_.extract(operation.id);
  if (!work) return;
  const bool is_own = operation.id == completion.id.value();
  const bool well = !is_own || completion.status == CompletionStatus::kSuccess;
  Window& window = windows_[work.mapped().window];
  Binding& next = work.mapped().next;
  if (well) {
    End(window.now);
    if (operation.opcode == SendOpcode::kBindWindow) window.now = next;
  } else if (completion.status != CompletionStatus::kFlushed && next.grant != 0) {
    End(next);
  } else if (next.grant != 0) {
    window.others.push_back(next.key);
  }
}

void LiveQp::OnReceiveDone(const Completion& completion) {
  if (prints_) {
    std::fprintf(stderr, "receive %lu: %s\n", completion.id.value(), NameOf(completion.status));
  }
  const auto receive = std::ranges::find(receives_, completion.id.value(), &Receive::id);
  if (receive == receives_.end() || (srq_ == nullptr && receive != receives_.begin())) {
    return findings_.Add("completions", "a receive completed twice, too early, or unposted: id " +
                                            std::to_string(completion.id.value()));
  }
  End(receive->pieces, findings_);
  receives_.erase(receive);
  const bool well = completion.status == CompletionStatus::kSuccess;
  if (!well || !completion.with_invalidate) return;
  for (Window& window : windows_) {
    if (window.now.key.value() == completion.invalidated.value()) End(window.now);
  }
}

// For reset and destruction: posted requests get no completions; those of an SRQ stay.
void LiveQp::ClearWork() {
  sends_ = {};
  for (auto& [id, written] : written_) End(written, findings_);
  written_.clear();
  for (auto& [id, work] : key_work_) {
    if (work.next.grant != 0) windows_[work.window].others.push_back(work.next.key);
  }
  key_work_.clear();
  if (srq_ != nullptr) return;
  for (Receive& receive : receives_) End(receive.pieces, findings_);
  receives_.clear();
}

}  // namespace verbena::fuzz
