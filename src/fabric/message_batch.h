#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fabric/datagram.h"
#include "fabric/staging.h"

namespace verbena::fabric {

// Limits of a message that the kernel cuts into datagrams, valid for all kernels that can: the
// number of segments, and the bytes behind the longer of the two IP headers and the UDP header.
inline constexpr size_t kSegmentsMax = 64;
inline constexpr size_t kMessageBytesMax = 65'535 - 40 - 8;

struct TransmitLimits {
  size_t messages = 64;
  size_t bytes = 512 << 10;  // stays in the L2 cache between our copy and the kernel's
};

// Datagrams that are to be sent together.
//
// Consecutive datagrams with the same route and size become one message, which the kernel cuts into
// segments again. The last of them can be smaller. A route can ask for single datagrams instead.
//
// Invariant: the bytes of messages_ are in staging_, in order. A datagram joins the last message
// only, and none that is sealed. Memory is allocated in the constructor only. One thread at a time.
class MessageBatch {
 public:
  struct Message {
    Route route;
    std::span<std::byte> bytes;
    size_t segment_size = 0;
    size_t segments = 0;
    size_t last_size = 0;  // of the last segment
  };

  MessageBatch(const TransmitLimits& limits, bool segmentation);
  MessageBatch(const MessageBatch&) = delete;
  MessageBatch& operator=(const MessageBatch&) = delete;

  // Reserves room for the next datagram, of 1 to kMessageBytesMax bytes. nullopt if the batch must
  // be sent first. The caller can write the bytes until the batch is sent.
  [[nodiscard]] std::optional<Reservation> Reserve(const Route& route, size_t size);

  // Undoes the last Reserve: at most once for each Reserve, before any other call.
  void CancelLast();

  // How many datagrams of up to `size` bytes fit at least before the batch is sent.
  [[nodiscard]] size_t room(size_t size) const;
  [[nodiscard]] bool empty() const { return messages_.empty(); }
  // Whether datagrams can leave as segments of one message.
  [[nodiscard]] bool segments() const { return segmentation_; }

  // --- For the sender. ---

  [[nodiscard]] std::span<const Message> messages() const { return messages_; }
  [[nodiscard]] size_t messages_max() const { return messages_max_; }
  // Closes the present messages: no later datagram joins them.
  void Seal() { sealed_ = messages_.size(); }
  [[nodiscard]] size_t sealed() const { return sealed_; }
  void StopSegments() { segmentation_ = false; }
  void Clear();

 private:
  static bool CanJoin(const Message& message, const Route& route, size_t size);

  const size_t messages_max_;
  bool segmentation_;
  Staging staging_;
  std::vector<Message> messages_;
  size_t sealed_ = 0;
};

}  // namespace verbena::fabric
