#pragma once

#include <cstdint>
#include <optional>

#include "base/ring.h"
#include "rdmacm/rsocket/byte_ring.h"
#include "rdmacm/rsocket/credits.h"

namespace verbena::rsockets {

// The receiving half of a stream: which bytes of the receive buffer the program has yet to read,
// and when the peer gets a half of the buffer, or credits, again. Sans-IO. One thread at a time.
//
// The peer writes the buffer from its beginning to its end, and again. It owns a half from the
// moment that it is granted until it has filled it.
class StreamReceiver {
 public:
  // The first half is granted by the connection header. REQUIRES: `buffer_size` is even.
  StreamReceiver(uint32_t buffer_size, uint16_t credits);

  [[nodiscard]] uint32_t half() const { return unread_.size() / 2; }

  // The peer has written `length` bytes. False if it had no credit, or wrote what was not granted.
  [[nodiscard]] bool OnData(uint32_t length);
  // The peer has sent another message that needs a credit.
  void OnCounted() { credits_.Consume(); }

  [[nodiscard]] uint32_t readable() const { return unread_.used(); }
  // The next `length` bytes for the program. REQUIRES: length <= readable().
  [[nodiscard]] RingPart Front(uint32_t length) const { return unread_.Front(length); }
  // The program has read `length` bytes. REQUIRES: length <= readable().
  void Consume(uint32_t length);

  // A half is free that the peer does not own.
  [[nodiscard]] bool half_due() const { return free_ >= half(); }
  [[nodiscard]] bool credits_due() const { return credits_.due(); }
  // The half that the peer now gets. REQUIRES: half_due().
  [[nodiscard]] BufferPart GrantHalf();
  // The value of a credit message that is sent now.
  [[nodiscard]] uint16_t GrantCredits() { return credits_.Grant(); }

 private:
  ReceiveCredits credits_;
  Ring<uint32_t> messages_;  // bytes of each that are unread
  ByteRing unread_;
  uint32_t granted_;     // bytes that the peer may yet write
  uint32_t free_;        // bytes that are neither granted nor unread
  uint32_t next_grant_;  // the offset of the next half to grant
};

}  // namespace verbena::rsockets
