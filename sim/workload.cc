#include "sim/workload.h"

#include <array>
#include <cstring>

#include "base/check.h"

namespace verbena::sim {
using queue::SendOpcode;

namespace {

// Above the numbers of all connections.
constexpr uint64_t kDoubtful = uint64_t{1} << 32;

}  // namespace

AllowedErrors Workload::AllowedErrorsOf(const Connection& connection) const {
  // Pages are absent because they were evicted, or because a granted key starts without them.
  const bool lacks_pages = swarm_.eviction > 0 || swarm_.granted_keys > 0;
  const bool slow_pages = lacks_pages && swarm_.page_in_max * 8 >= swarm_.ack_timeout;
  // Requests that leave as segments may be lost, and then responses that leave as segments.
  // Retransmissions after that are single datagrams.
  constexpr uint32_t kRetriesForSegments = 3;
  const bool link_may_lose = !swarm_.single_is_safe() ||
                             (swarm_.segments_max > 0 && swarm_.retry_count < kRetriesForSegments);
  // Packets after one that waits for pages are dropped, and a requester that is not Verbena takes
  // the NAK for a loss.
  const bool drops_cost = swarm_.foreign && swarm_.eviction > 0 && swarm_.retry_count == 0;
  // A queue pair that fails because its bytes are unmapped sends no NAK.
  const bool may_fall_silent = swarm_.crash > 0 || connection.has_lost_memory;
  // Absent pages use no RNR retry of a Verbena requester, and none of another one if they arrive
  // before the NAK is due: within half of its ACK timeout.
  bool may_run_dry = false;
  for (const auto& side : connection.sides) {
    const bool is_foreign_and_slow =
        swarm_.foreign && side->was_faulting &&
        (!swarm_.link_is_perfect() || swarm_.page_in_max * 16 >= swarm_.ack_timeout);
    may_run_dry = may_run_dry || side->was_not_ready || is_foreign_and_slow;
  }
  return {
      .is_broken = connection.broken,
      .may_lose =
          link_may_lose || slow_pages || drops_cost || may_fall_silent || connection.is_severed,
      .may_run_dry = may_run_dry && swarm_.rnr_retry<7, .pages_may_fail = swarm_.page_in_failure> 0,
      .has_lost_memory = connection.has_lost_memory,
      .has_overflowed = connection.has_overflowed(),
      .is_attacked = connection.is_attacked};
}

void Workload::FillReceives(Side& side) {
  side.own_pool.Fill(random_, [&side](const queue::ReceiveWorkRequest& request) {
    return side.qp->receive_queue().Post(request).has_value();
  });
  if (side.qp->must_run_for_receives()) side.node->Kick(*side.qp, /*polls=*/false);
}

void Workload::PollReceives(Connection& connection, int at, Time now) {
  Side& side = connection.side(at);
  if (!side.Looks(side.receive_cq, now)) return;
  while (side.receive_cq.size() > 0 && findings_.empty()) TakeReceives(connection, at, now);
}

void Workload::TakeReceives(Connection& connection, int at, Time now) {
  Side& side = connection.side(at);
  ReceivePool& pool = side.receives();
  std::array<Completion, 64> completions;
  const size_t count = side.receive_cq.Poll(completions).value();
  for (size_t i = 0; i < count; ++i) {
    const Completion& completion = completions[i];
    const auto offset = side.OffsetOf(completion.id, findings_);
    if (!offset) return;
    const bool well = completion.status == CompletionStatus::kSuccess;
    if (well) {
      OnMessage(connection, at, completion, *offset);
    } else if (completion.status != CompletionStatus::kFlushed) {
      ReceiveFailed(connection, at, completion.status, now);
    } else if (!connection.broken) {
      findings_.Add("completions", "a receive request was flushed without a reason");
    }
    pool.Finish(completion.id, well, findings_);
  }
}

void Workload::ReceiveFailed(Connection& connection, int at, CompletionStatus status, Time now) {
  const Side& side = connection.side(at);
  const bool is_of_message =
      !side.inbound.empty() &&
      (side.inbound.front()->is_endangered || side.inbound.front()->fate != Fate::kSuccess);
  const bool is_allowed_error = is_of_message || swarm_.page_in_failure > 0 ||
                                connection.has_lost_memory || connection.is_attacked;
  if (!is_allowed_error) {
    findings_.Add("completions", std::string("a receive request ended with ") + NameOf(status));
  }
  connection.has_reason = true;
  connection.Break(now, swarm_.ack_timeout);
}

// The oldest posted message that was not received yet, in full.
void Workload::OnMessage(Connection& connection, int at, const Completion& completion,
                         uint64_t offset) {
  Side& side = connection.side(at);
  if (connection.is_attacked) return OnDoubtfulMessage(side, completion);
  if (side.inbound.empty()) return findings_.Add("completions", "a message that was never sent");
  Operation& message = *side.inbound.front();
  const bool is_write = message.opcode == SendOpcode::kWriteWithImmediate;
  bool fits = completion.byte_count == message.bytes.size() && message.fate == Fate::kSuccess &&
              is_write == (completion.opcode == CompletionOpcode::kReceiveWithImmediate) &&
              completion.with_immediate == queue::PropertiesOf(message.opcode).carries_immediate &&
              completion.with_invalidate == (message.opcode == SendOpcode::kSendWithInvalidate);
  if (completion.with_immediate) {
    fits = fits && completion.immediate.value() == message.immediate;
  }
  if (completion.with_invalidate) {
    fits = fits && completion.invalidated.value() == message.invalidated;
    if (GrantedKey* const granted = side.FindGranted(message.granted)) Returned(side, *granted);
  }
  if (message.opcode == SendOpcode::kRegisterAndSend) {
    // A side that has received the message may use the key in it.
    Side& owner = connection.side(1 - at);
    if (GrantedKey* const granted = owner.FindGranted(message.granted))
      Lent(owner, *granted, message);
  }
  if (!fits) findings_.Add("completions", "a message was received that is not the next one");
  if (fits && !is_write && !message.bytes.empty() &&
      std::memcmp(side.receives().guarded()->At(offset), message.bytes.data(),
                  message.bytes.size()) != 0) {
    findings_.Add("bytes", "a message was received with other bytes than were sent");
  }
  message.is_received = true;
  side.inbound.pop_front();
}

// Its sender is unknown. But a key that the adapter reports as invalidated is invalid.
void Workload::OnDoubtfulMessage(Side& side, const Completion& completion) {
  if (!completion.with_invalidate) return;
  for (const auto& granted : side.granted_keys) {
    const bool is_it = granted->key.value() == completion.invalidated.value();
    if (is_it && granted->state != GrantedKey::State::kFree) Returned(side, *granted);
  }
}

void Workload::PollSends(Connection& connection, int at, Time now) {
  Side& side = connection.side(at);
  if (!side.Looks(side.send_cq, now)) return;
  while (side.send_cq.size() > 0 && findings_.empty()) TakeSends(connection, at, now);
}

void Workload::TakeSends(Connection& connection, int at, Time now) {
  Side& side = connection.side(at);
  std::array<Completion, 64> completions;
  const size_t count = side.send_cq.Poll(completions).value();
  for (size_t i = 0; i < count; ++i) {
    const Completion& completion = completions[i];
    const CompletionStatus status = completion.status;
    side.sends.Completed(completion, AllowedErrorsOf(connection), findings_,
                         [&](Operation& operation, bool well) {
                           if (well) CheckPace(connection, at, operation, now);
                           Ended(connection, at, operation, well);
                         });
    if (status == CompletionStatus::kSuccess) continue;
    if (!side.has_failed) CheckRetries(connection, at, status);
    side.has_failed = true;
    if (status != CompletionStatus::kFlushed) connection.has_reason = true;
    connection.Break(now, swarm_.ack_timeout);
  }
}

void Workload::CheckPace(Connection& connection, int at, const Operation& operation, Time now) {
  Side& side = connection.side(at);
  if (connection.is_severed || connection.is_attacked || operation.is_endangered) return;
  side.faults.CheckLatency(now - operation.posted_at, findings_);
  // When an unsignaled operation ended is not known.
  const bool is_judged = connection.is_spared && operation.is_signaled;
  if (is_judged && !connection.has_lost_memory) {
    side.progress.Ended(operation.posted_at, now, findings_);
  }
}

void Workload::CheckRetries(Connection& connection, int at, CompletionStatus status) {
  Side& side = connection.side(at);
  side.faults.CheckRetries(status == CompletionStatus::kRnrRetryExceeded, findings_);
  const bool is_countable =
      swarm_.link_is_perfect() && swarm_.eviction == 0 && !connection.has_lost_memory;
  if (is_countable) {
    side.retries.CheckGaveUp(status, swarm_.retry_count, swarm_.rnr_retry, findings_);
  }
}

void Workload::Drained(Connection& connection, int at) {
  Side& side = connection.side(at);
  const auto done = [&](Operation& operation, bool well) {
    Ended(connection, at, operation, well);
  };
  side.send_cq.overflowed() ? side.sends.Lost(done) : side.sends.Drained(findings_, done);
}

// With forged packets, whatever happened to earlier ones.
void Workload::BecameDoubtful(Connection& connection, int at, const Operation& operation) {
  const uint64_t queue = connection.id * 2 + static_cast<uint64_t>(at);
  connection.side(1 - at).node->atomics[operation.immediate].Failed(
      connection.is_attacked ? kDoubtful + operation.id : queue, operation.word);
}

// A failed operation keeps its slots, because packets of it may still be in the network.
void Workload::Ended(Connection& connection, int at, Operation& operation, bool well) {
  Side& side = connection.side(at);
  Side& peer = connection.side(1 - at);
  if (well && !connection.is_attacked) {
    EndedWell(connection, at, operation);
  } else if (operation.opcode == SendOpcode::kFetchAndAdd && operation.fate == Fate::kSuccess) {
    BecameDoubtful(connection, at, operation);
  }
  GrantWorkEnded(side, operation, well);
  if (operation.remote_slot && operation.granted != 0) {
    GrantedKey* const granted = peer.FindGranted(operation.granted);
    if (granted != nullptr && granted->user.get() == &operation) {
      granted->user = nullptr;
      // A one-touch key is invalid after the message.
      const bool touched = !operation.bytes.empty();
      if (well && granted->one_touch && touched) Spent(peer, *granted, operation);
    }
  }
}

void Workload::EndedWell(Connection& connection, int at, Operation& operation) {
  Side& side = connection.side(at);
  Side& peer = connection.side(1 - at);
  const char* const name = queue::NameOf(operation.opcode);
  ++succeeded_[static_cast<size_t>(operation.opcode)];
  const auto local_word = [&] {
    uint64_t word = 0;
    std::memcpy(&word, side.local->At(SlotAt(*operation.local_slot)), sizeof word);
    return word;
  };
  if (operation.opcode == SendOpcode::kFetchAndAdd) {
    peer.node->atomics[operation.immediate].Succeeded(local_word(), operation.word);
  } else if (operation.opcode == SendOpcode::kCompareAndSwap && local_word() != operation.word) {
    findings_.Add("atomics", "a compare-and-swap found a value that was not there");
  }
  operation.is_reported = true;
  // Its receiver may not have polled yet, or may have died meanwhile.
  const bool may_be_unseen = swarm_.neglect > 0 && (peer.receive_cq.size() > 0 || !peer.qp);
  if (IsMessage(operation.opcode) && !operation.is_received && !may_be_unseen) {
    findings_.Add("completions", std::string(name) + " succeeded, but was not received");
  }
  side.local->shadow().Finish(operation.id, true, name, findings_);
  peer.exposed->shadow().Finish(operation.id, true, name, findings_);
  if (operation.local_slot) side.free_local.push_back(*operation.local_slot);
  if (operation.remote_slot && operation.granted == 0) {
    peer.free_exposed.push_back(*operation.remote_slot);
  }
}

}  // namespace verbena::sim
