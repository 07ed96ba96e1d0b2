// Requests that programs may not make.

#include <iterator>

#include "sim/workload.h"

namespace verbena::sim {

using queue::SendOpcode;

// Changes an operation into one that must fail without harm.
void Workload::MakeIllegal(Connection& connection, int from, Draft& draft) {
  Operation& operation = *draft.operation;
  Side& peer = connection.side(1 - from);
  const SendOpcode opcode = draft.wqe.opcode;
  auto* const remote = std::get_if<RemoteAddress>(&draft.wqe.operand);
  auto* const atomic = std::get_if<queue::Atomic>(&draft.wqe.operand);
  if (opcode == SendOpcode::kAtomicWrite) return;
  if (atomic != nullptr) {
    operation.fate = MisplaceAtomic(*atomic) ? Fate::kRemoteInvalid : Fate::kRemoteRefused;
    connection.is_provoked = true;
    return;
  }
  if (operation.bytes.empty()) return;
  if (remote != nullptr) {
    MisplaceRemote(peer, *remote, draft);
    operation.fate = Fate::kRemoteRefused;
    // A long read consists of parts, and those within the range are executed before one is refused:
    // the buffer of a failed read is undefined.
    connection.side(from).local->shadow().Loosen(operation.id);
  } else if (opcode == SendOpcode::kSend && !draft.wqe.flags.inlined) {
    draft.sges[0] = draft.sges[1] = draft.sges[2] =
        connection.side(from).local->Bytes(SlotAt(*operation.local_slot), swarm_.slot_bytes);
    operation.fate = Fate::kRemoteInvalid;  // longer than any receive request
  } else if (opcode == SendOpcode::kSendWithImmediate && !draft.wqe.flags.inlined) {
    for (Sge& sge : draft.sges) sge.key = Key(sge.key.value() ^ 1);
    operation.fate = Fate::kLocalRefused;
  } else {
    return;
  }
  connection.is_provoked = true;
  // It must have no effect on the other side.
  if (operation.remote_slot) peer.exposed->shadow().Forbid(operation.id);
}

// True for an invalid request, false for one without the right to its bytes.
bool Workload::MisplaceAtomic(queue::Atomic& atomic) {
  if (random_.Chance(1, 2)) {
    atomic.remote.address += 1 + random_.Below(7);
    return true;
  }
  atomic.remote.key = Key(atomic.remote.key.value() ^ 1);
  return false;
}

// Another key, other bytes, or bytes that begin in range and overrun the end.
void Workload::MisplaceRemote(Side& peer, RemoteAddress& remote, const Draft& draft) {
  const uint64_t length = draft.operation->bytes.size();
  const uint64_t end = draft.granted != nullptr ? remote.address + swarm_.slot_bytes
                                                : GuardedMemory::kBase + peer.exposed->size();
  const RemoteAddress kinds[] = {
      {remote.address, Key(remote.key.value() ^ (1u << random_.Below(8)))},
      {remote.address - (GuardedMemory::kBase / 2), remote.key},
      {end - length + 1 + random_.Below(length), remote.key},
      peer.local->Remote(0),            // no remote rights
      peer.node->counters->Remote(64),  // atomics only
  };
  remote = kinds[random_.Below(std::size(kinds))];
}

// An operation that needs a deregistered region cannot succeed.
void Workload::MarkHopeless(Connection& connection, int from, Draft& draft) {
  Operation& operation = *draft.operation;
  Side& peer = connection.side(1 - from);
  if (operation.bytes.empty() || operation.fate != Fate::kSuccess) return;
  const bool gathers =
      queue::PropertiesOf(draft.wqe.opcode).carries_payload && !draft.wqe.flags.inlined;
  if (gathers && !connection.side(from).local->is_registered()) {
    operation.fate = Fate::kLocalRefused;
  } else if (operation.needs_exposed && !peer.exposed->is_registered()) {
    operation.fate = Fate::kRemoteRefused;
  }
  if (operation.fate != Fate::kSuccess && operation.remote_slot) {
    peer.exposed->shadow().Forbid(operation.id);
  }
}

}  // namespace verbena::sim
