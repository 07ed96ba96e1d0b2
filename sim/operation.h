#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "queue/wqe.h"
#include "wire/tag_header.h"

namespace verbena::sim {

// The expected result of an operation, without disturbances.
enum class Fate : uint8_t {
  kSuccess,
  kRemoteRefused,
  kRemoteInvalid,
  kLocalRefused,
  kTooLong,        // for its service
  kNotRegistered,  // because the key is not one to register with
};

// One element of a send queue, with what the program remembers of it.
struct Operation {
  uint64_t id = 0;
  queue::SendOpcode opcode = queue::SendOpcode::kSend;
  Fate fate = Fate::kSuccess;
  bool is_signaled = true;
  bool is_endangered = false;  // its key was revoked while it was outstanding
  bool is_forbidden = false;   // and is not granted again
  bool is_reported = false;    // its program has the completion of success
  bool is_received = false;    // a completion of the peer's receive queue reported it
  bool is_awaited = false;     // by the oracle of messages
  std::optional<uint32_t> local_slot;
  std::optional<uint32_t> remote_slot;
  std::optional<uint32_t> managed_slot;
  uint64_t granted = 0;          // key of the peer that it uses, or own key that it makes or ends
  bool needs_exposed = false;    // the region over the peer's exposed memory must exist
  std::vector<std::byte> bytes;  // of the message
  uint32_t immediate = 0;
  uint32_t invalidated = 0;   // key
  uint32_t lent = 0;          // key
  uint32_t to = 0;            // queue pair; of unreliable services
  uint64_t word = 0;          // addend, or expected value of an atomic
  wire::TagHeader tag;        // of a message to a tag matching queue
  uint64_t listed_since = 0;  // the version of its list of tags when it was posted
  bool has_ended = false;     // the send queue is done with it; of those with a tag
  Time posted_at;
};

// Whether the operation has a completion at the peer's receive queue.
inline bool IsMessage(queue::SendOpcode opcode) {
  using queue::SendOpcode;
  return opcode == SendOpcode::kSend || opcode == SendOpcode::kSendWithInvalidate ||
         opcode == SendOpcode::kRegisterAndSend || queue::PropertiesOf(opcode).carries_immediate;
}

}  // namespace verbena::sim
