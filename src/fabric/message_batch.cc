#include "fabric/message_batch.h"

#include <algorithm>

#include "base/check.h"

namespace verbena::fabric {

MessageBatch::MessageBatch(const TransmitLimits& limits, bool segmentation)
    : messages_max_(limits.messages), segmentation_(segmentation), staging_(limits.bytes) {
  CHECK(limits.messages >= 1);
  CHECK(limits.bytes >= kMessageBytesMax);
  messages_.reserve(limits.messages);
}

bool MessageBatch::CanJoin(const Message& message, const Route& route, size_t size) {
  return !route.single && message.segments < kSegmentsMax && size <= message.segment_size &&
         message.last_size == message.segment_size &&
         message.bytes.size() + size <= kMessageBytesMax && message.route == route;
}

std::optional<Reservation> MessageBatch::Reserve(const Route& route, size_t size) {
  CHECK(size >= 1 && size <= kMessageBytesMax);
  if (size > staging_.available()) return std::nullopt;
  const bool joins =
      segmentation_ && messages_.size() > sealed_ && CanJoin(messages_.back(), route, size);
  if (!joins) {
    if (messages_.size() == messages_max_) return std::nullopt;
    messages_.push_back({.route = route, .bytes = staging_.Take(0), .segment_size = size});
  }
  Message& message = messages_.back();
  const std::span<std::byte> bytes = staging_.Take(size);
  message.bytes = {message.bytes.data(), message.bytes.size() + size};
  message.last_size = size;
  return Reservation{.bytes = bytes, .ip_id = static_cast<uint16_t>(message.segments++)};
}

void MessageBatch::CancelLast() {
  CHECK(messages_.size() > sealed_);
  Message& message = messages_.back();
  staging_.GiveBack(message.last_size);
  if (message.segments == 1) return messages_.pop_back();
  --message.segments;
  message.bytes = message.bytes.first(message.bytes.size() - message.last_size);
  message.last_size = message.segment_size;  // only the last segment can be smaller
}

size_t MessageBatch::room(size_t size) const {
  return std::min(messages_max_ - messages_.size(), staging_.available() / size);
}

void MessageBatch::Clear() {
  messages_.clear();
  staging_.Clear();
  sealed_ = 0;
}

}  // namespace verbena::fabric
