#include "sim/workload.h"

#include <array>
#include <cstring>

#include "base/check.h"

namespace verbena::sim {

using queue::CompletionStatus;
using queue::SendOpcode;

Excuses Workload::ExcusesOf(const Connection& connection) const {
  const bool slow_pages = swarm_.eviction > 0 && swarm_.page_in_max * 8 >= swarm_.ack_timeout;
  return {.is_broken = connection.broken,
          .may_lose = !swarm_.link_is_perfect() || slow_pages || swarm_.crash > 0,
          .may_run_dry = swarm_.rnr_retry<7, .pages_may_fail = swarm_.page_in_failure> 0};
}

void Workload::FillReceives(Side& side) {
  ReceivePool& pool = side.receives();
  while (!pool.free.empty()) {
    const uint32_t slot = pool.free.back();
    const uint64_t id = pool.next_id++;
    const uint64_t first = random_.Below(swarm_.slot_bytes + 1);
    const std::array<queue::Sge, 2> sges = {
        pool.plot->Bytes(SlotAt(slot), first),
        pool.plot->Bytes(SlotAt(slot) + first, swarm_.slot_bytes - first)};
    const queue::ReceiveRequest request{.wqe = {queue::WrId(id)}, .sges = sges};
    const bool posted = side.node->srq ? side.node->srq->Post(request).has_value()
                                       : side.receive_queue.Post(request).has_value();
    if (!posted) return;
    pool.free.pop_back();
    pool.posted.emplace(id, slot);
    pool.plot->Allow(id, SlotAt(slot), std::vector<std::byte>(swarm_.slot_bytes), true);
    if (!side.node->srq) side.receive_order.push_back(id);
  }
}

void Workload::PollReceives(Connection& connection, int at, Time now) {
  Side& side = connection.side(at);
  ReceivePool& pool = side.receives();
  std::array<queue::Completion, 64> completions;
  const size_t count = side.receive_cq.Poll(completions).value();
  for (size_t i = 0; i < count; ++i) {
    const queue::Completion& completion = completions[i];
    const auto posted = pool.posted.find(completion.id.value());
    if (posted == pool.posted.end()) {
      return findings_.Add("completions", "a receive request completed twice, or never posted");
    }
    if (!side.node->srq) {
      if (side.receive_order.front() != posted->first) {
        findings_.Add("completions", "receive requests completed out of order");
      }
      side.receive_order.pop_front();
    }
    const bool well = completion.status == CompletionStatus::kSuccess;
    if (well) {
      OnMessage(connection, at, completion, SlotAt(posted->second));
    } else if (completion.status != CompletionStatus::kFlushed) {
      const bool excused = !side.inbound.empty() &&
                           (side.inbound.front()->fate != Fate::kSuccess ||
                            side.inbound.front()->is_endangered || swarm_.page_in_failure > 0);
      if (!excused) {
        findings_.Add("completions", std::string("a receive request ended with ") +
                                         queue::NameOf(completion.status));
      }
      connection.has_cause = true;
      connection.Break(now, swarm_.ack_timeout);
    } else if (!connection.broken) {
      findings_.Add("completions", "a receive request was flushed without a reason");
    }
    pool.plot->shadow().Finish(posted->first, well, "a receive", findings_);
    pool.free.push_back(posted->second);
    pool.posted.erase(posted);
  }
}

// The message that was posted first of those not yet received, and all of it.
void Workload::OnMessage(Connection& connection, int at, const queue::Completion& completion,
                         uint64_t offset) {
  Side& side = connection.side(at);
  if (side.inbound.empty()) return findings_.Add("completions", "a message that was never sent");
  Operation& message = *side.inbound.front();
  const bool is_write = message.opcode == SendOpcode::kWriteWithImmediate;
  bool fits =
      completion.byte_count == message.bytes.size() && message.fate == Fate::kSuccess &&
      is_write == (completion.opcode == queue::CompletionOpcode::kReceiveWithImmediate) &&
      completion.flags.with_immediate == queue::PropertiesOf(message.opcode).carries_immediate;
  if (completion.flags.with_immediate) {
    fits = fits && completion.immediate.value() == message.immediate;
  }
  if (completion.flags.with_invalidate) {
    fits = fits && completion.invalidated.value() == message.invalidated;
    if (Window* const window = FindWindow(side, message.window)) Unbound(side, *window);
  }
  if (!fits) findings_.Add("completions", "a message was received that is not the next one");
  if (fits && !is_write && !message.bytes.empty() &&
      std::memcmp(side.receives().plot->At(offset), message.bytes.data(), message.bytes.size()) !=
          0) {
    findings_.Add("bytes", "a message was received with other bytes than were sent");
  }
  message.is_received = true;
  side.inbound.pop_front();
}

void Workload::PollSends(Connection& connection, int at, Time now) {
  Side& side = connection.side(at);
  std::array<queue::Completion, 64> completions;
  const size_t count = side.send_cq.Poll(completions).value();
  for (size_t i = 0; i < count; ++i) {
    const queue::Completion& completion = completions[i];
    const CompletionStatus status = completion.status;
    side.sends.Completed(completion, ExcusesOf(connection), findings_,
                         [&](Operation& operation, bool well) {
                           if (well) {
                             side.faults.CheckLatency(now - operation.posted_at, findings_);
                           }
                           Ended(connection, at, operation, well);
                         });
    if (status == CompletionStatus::kSuccess) continue;
    if (!side.has_failed) {
      side.faults.CheckRetries(status == CompletionStatus::kRnrRetryExceeded, findings_);
    }
    side.has_failed = true;
    if (status != CompletionStatus::kFlushed) connection.has_cause = true;
    connection.Break(now, swarm_.ack_timeout);
  }
}

void Workload::Drained(Connection& connection, int at) {
  connection.side(at).sends.Drained(
      findings_, [&](Operation& operation, bool well) { Ended(connection, at, operation, well); });
}

// An operation that failed keeps its slots: packets of it may still be on their way.
void Workload::Ended(Connection& connection, int at, Operation& operation, bool well) {
  Side& side = connection.side(at);
  Side& peer = connection.side(1 - at);
  if (well) {
    EndedWell(connection, at, operation);
  } else if (operation.opcode == SendOpcode::kFetchAndAdd && operation.fate == Fate::kSuccess) {
    peer.node->atomics[operation.immediate].Failed(connection.id * 2 + static_cast<uint64_t>(at),
                                                   operation.word);
  }
  WindowWorkEnded(side, operation, well);
  if (operation.remote_slot && operation.window != 0) {
    Window* const window = FindWindow(peer, operation.window);
    if (window != nullptr && window->user.get() == &operation) {
      window->user = nullptr;
      // IBA has no such window: it has died with the message.
      const bool touched = !operation.bytes.empty();
      if (well && window->one_touch && touched) Unbound(peer, *window);
    }
  }
}

void Workload::EndedWell(Connection& connection, int at, Operation& operation) {
  Side& side = connection.side(at);
  Side& peer = connection.side(1 - at);
  const char* const name = queue::NameOf(operation.opcode);
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
  const bool is_message = operation.opcode == SendOpcode::kSend ||
                          operation.opcode == SendOpcode::kSendWithInvalidate ||
                          queue::PropertiesOf(operation.opcode).carries_immediate;
  if (is_message && !operation.is_received) {
    findings_.Add("completions", std::string(name) + " succeeded, but was not received");
  }
  side.local->shadow().Finish(operation.id, true, name, findings_);
  peer.exposed->shadow().Finish(operation.id, true, name, findings_);
  if (operation.local_slot) side.free_local.push_back(*operation.local_slot);
  if (operation.remote_slot && operation.window == 0) {
    peer.free_exposed.push_back(*operation.remote_slot);
  }
}

// A bind or an invalidation of our own has ended.
void Workload::WindowWorkEnded(Side& side, Operation& operation, bool well) {
  Window* const window = FindWindow(side, operation.window);
  if (window == nullptr || !well) return;
  if (operation.opcode == SendOpcode::kBindWindow) {
    window->key = window->next_key;
    window->state = Window::State::kBound;
  } else if (operation.opcode == SendOpcode::kLocalInvalidate) {
    Unbound(side, *window);
  }
}

// The key is dead: what goes through it from now on is not granted.
void Workload::Unbound(Side& owner, Window& window) {
  window.state = Window::State::kUnbound;
  if (window.user != nullptr) {
    // Its slot is not used again, since the peer may yet succeed.
    window.user->is_forbidden = true;
    owner.exposed->shadow().Forbid(window.user->id);
    owner.exposed->shadow().Check(findings_);
    window.user = nullptr;
    return;
  }
  owner.free_exposed.push_back(window.slot);
}

Window* Workload::FindWindow(Side& side, uint64_t id) {
  for (const auto& window : side.windows) {
    if (window->id == id) return window.get();
  }
  return nullptr;
}

// Whether or not it is in use.
void Workload::EndSomeWindow(Connection& connection, int owner, Time now) {
  Side& side = connection.side(owner);
  if (side.windows.empty() || side.is_swapped_out) return;
  Window& window = *side.windows[random_.Below(side.windows.size())];
  if (window.state != Window::State::kBound) return;
  if (window.user != nullptr) window.user->is_endangered = true;
  const memory::Accessor who{side.node->pd, memory::QpNumber(side.number.value())};
  if (window.type == memory::WindowType::kType1) {
    const auto unbound = side.node->core.windows.Bind(window.key, {}, who);
    CHECK(unbound.has_value());
    window.key = *unbound;
    return Unbound(side, window);
  }
  const uint64_t posted = side.send_queue.end().value() - side.send_queue.begin().value();
  if (window.one_touch || posted == side.send_queue.limits().capacity) return;
  window.state = Window::State::kEnding;
  Draft draft;
  draft.operation->id = next_id_++;
  draft.operation->window = window.id;
  draft.wqe.opcode = SendOpcode::kLocalInvalidate;
  draft.wqe.invalidate = queue::KeyValue(window.key.value());
  Submit(connection, owner, draft, now);
}

void Workload::SwapOut(Connection& connection, int owner) {
  Side& side = connection.side(owner);
  if (side.is_swapped_out) return;
  CHECK(side.node->core.regions.SwapOut(side.exposed->keys().local).has_value());
  side.is_swapped_out = true;
  for (const auto& operation : connection.side(1 - owner).sends.posted()) {
    operation->is_endangered = true;
    side.exposed->shadow().Forbid(operation->id);
  }
  // Its own work requests on windows may be refused, too.
  for (const auto& operation : side.sends.posted()) operation->is_endangered = true;
  side.exposed->shadow().Check(findings_);
}

void Workload::SwapIn(Connection& connection, int owner) {
  Side& side = connection.side(owner);
  if (!side.is_swapped_out) return;
  side.exposed->shadow().Check(findings_);
  CHECK(side.node->core.regions.SwapIn(side.exposed->keys().local).has_value());
  side.is_swapped_out = false;
  for (const auto& operation : connection.side(1 - owner).sends.posted()) {
    const bool may = operation->fate == Fate::kSuccess && !operation->is_forbidden;
    if (may) side.exposed->shadow().AllowAgain(operation->id);
  }
}

}  // namespace verbena::sim
