#pragma once

#include <cstdint>
#include <optional>

#include "base/ring.h"
#include "rdmacm/rsocket/byte_ring.h"
#include "rdmacm/rsocket/credits.h"

namespace verbena::rsockets {

// The receiving half of a stream: which bytes of the receive buffer the program has not read yet,
// and when a half of the buffer, or credits, are granted to the peer again. Sans-IO. One thread at
// a time.
//
// The peer writes the buffer from its beginning to its end, and starts again. It owns a half from
// the grant until it has filled the half.
class StreamReceiver {
 public:
  // The first half is granted by the connection header. REQUIRES: `buffer_size` is even.
  StreamReceiver(uint32_t buffer_size, uint16_t credits);

  [[nodiscard]] uint32_t half() const { return unread_.size() / 2; }

  // The peer has written `length` bytes. False if it had no credit, or exceeded the grant.
  [[nodiscard]] bool OnData(uint32_t length);
  // The peer has sent another message that uses a credit.
  void OnCounted() { credits_.Consume(); }

  [[nodiscard]] uint32_t readable() const { return unread_.used(); }
  // The next `length` bytes for the program. REQUIRES: length <= readable().
  [[nodiscard]] RingPart Front(uint32_t length) const { return unread_.Front(length); }
  // The program has read `length` bytes. REQUIRES: length <= readable().
  void Consume(uint32_t length);

  // A half is free, and the peer does not own it.
  [[nodiscard]] bool half_due() const { return free_ >= half(); }
  [[nodiscard]] bool credits_due() const { return credits_.due(); }
  // Grants the next half to the peer. REQUIRES: half_due().
  [[nodiscard]] BufferPart GrantHalf();
  // The value for a credit message that is sent now.
  [[nodiscard]] uint16_t GrantCredits() { return credits_.Grant(); }

 private:
  ReceiveCredits credits_;
  Ring<uint32_t> messages_;  // unread bytes of each
  ByteRing unread_;
  uint32_t granted_;     // bytes that the peer may still write
  uint32_t free_;        // bytes that are neither granted nor unread
  uint32_t next_grant_;  // the offset of the next half to grant
};

}  // namespace verbena::rsockets
