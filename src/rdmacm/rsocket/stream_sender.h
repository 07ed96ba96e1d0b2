#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/ring.h"
#include "rdmacm/rsocket/byte_ring.h"
#include "rdmacm/rsocket/credits.h"
#include "rdmacm/rsocket/limits.h"
#include "rdmacm/rsocket/wire.h"

namespace verbena::rsockets {

// An RDMA write to be posted. A value type.
struct StreamTransfer {
  uint32_t length = 0;
  RingPart local{};  // part of the send buffer; empty for inline data
  uint64_t remote_address = 0;
  uint32_t rkey = 0;
};

// The sending half of a stream: decides how much may be sent now, and to where. Data needs a slot
// of the send queue, a credit, a buffer of the peer, and space in the send buffer unless it is sent
// inline. Sans-IO. One thread at a time.
//
// The peer's buffers arrive as entries of the target list and are filled in order, each to its end.
// The protocol requires this: the peer derives the positions of bytes from lengths alone.
class StreamSender {
 public:
  struct Config {
    uint32_t slots = 0;           // of the send queue, for data
    uint32_t slots_per_data = 1;  // 2 if a message needs its own SEND
    uint32_t buffer_size = 0;
    uint32_t inline_max = 0;
  };

  StreamSender(const Config& config, uint16_t credits, const RemoteBuffer& first_target);

  // Whether Next would return a transfer.
  [[nodiscard]] bool can_send() const;
  [[nodiscard]] bool can_send_direct() const { return HasSlots(1) && HasBuffer(); }
  // The next transfer of at most `wanted` bytes; nullopt if nothing can be sent now. It counts as
  // posted until OnCompletion. REQUIRES: wanted > 0.
  [[nodiscard]] std::optional<StreamTransfer> Next(uint32_t wanted);

  // A write of `length` bytes outside the stream, to a mapped buffer. Needs no credit.
  [[nodiscard]] std::optional<StreamTransfer> NextDirect(uint32_t wanted);
  // An entry of the peer's iomap list, of `length` bytes; needs a credit, as data does.
  [[nodiscard]] std::optional<StreamTransfer> NextEntry(uint32_t length);

  // Work requests have completed, in order: releases `slots` of the send queue, and the bytes of
  // the buffer that Next took for them.
  void OnCompletion(uint32_t slots, uint32_t buffer_bytes);
  // A credit message has arrived.
  void OnCredits(uint32_t value) { credits_.Grant(value); }
  // The peer has written an entry of the target list. False if it grants more buffers than the list
  // has entries.
  [[nodiscard]] bool OnTarget(const RemoteBuffer& target);

  // Every work request has completed.
  [[nodiscard]] bool idle() const { return slots_used_ == 0; }

 private:
  [[nodiscard]] bool HasSlots(uint32_t count) const { return slots_used_ + count <= config_.slots; }
  [[nodiscard]] bool HasBuffer() const;
  [[nodiscard]] StreamTransfer Take(uint32_t length, uint32_t slots);

  const Config config_;
  SendCredits credits_;
  ByteRing buffer_;
  Ring<RemoteBuffer> targets_;  // none of them is full
  uint32_t slots_used_ = 0;
};

}  // namespace verbena::rsockets
