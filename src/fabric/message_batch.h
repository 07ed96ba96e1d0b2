#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fabric/datagram.h"
#include "fabric/staging.h"

namespace verbena::fabric {

// What the kernel cuts into datagrams at most, on all kernels that can: in number, and in bytes
// behind the longer of the two IP headers and the UDP header.
inline constexpr size_t kSegmentsMax = 64;
inline constexpr size_t kMessageBytesMax = 65'535 - 40 - 8;

struct TransmitLimits {
  size_t messages = 64;
  size_t bytes = 512 << 10;  // stays in the second-level cache between the copy and the kernel's
};

// Datagrams that are to be sent together.
//
// Datagrams that follow each other on the same route and have the same size, the last of them
// possibly a smaller one, become one message, which the network's system cuts again; unless the
// route asks for single ones.
//
// Invariant: the bytes of messages_ are in staging_, in order. The last one is open as long as
// another datagram may join it. Memory is allocated in the constructor only. One thread at a time.
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

  // A place for the next datagram, which has 1 to kMessageBytesMax bytes; nullopt when there is no
  // room before the batch is sent. The bytes are the caller's to write until then.
  [[nodiscard]] std::optional<Reservation> Reserve(const Route& route, size_t size);

  // Takes the last Reserve back. Once for each, before the next call.
  void CancelLast();

  // How many datagrams of up to `size` bytes fit at least before the batch is sent.
  [[nodiscard]] size_t room(size_t size) const;
  [[nodiscard]] bool empty() const { return messages_.empty(); }
  // Datagrams may leave as segments of one message.
  [[nodiscard]] bool segments() const { return segmentation_; }

  // --- The sender's. ---

  [[nodiscard]] std::span<const Message> messages() const { return messages_; }
  [[nodiscard]] size_t messages_max() const { return messages_max_; }
  // No datagram joins a message that is there now.
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
