#include "rdmacm/rsocket/stream_sender.h"

#include <algorithm>

#include "base/check.h"

namespace verbena::rsockets {

StreamSender::StreamSender(const Config& config, uint16_t credits, const RemoteBuffer& first_target)
    : config_(config), credits_(credits), buffer_(config.buffer_size), targets_(kTargetEntries) {
  CHECK(config.slots >= config.slots_per_data);
  if (first_target.length > 0) CHECK(targets_.TryPush(first_target));
}

bool StreamSender::HasBuffer() const {
  return buffer_.free() >= std::min(kSendLowWater, buffer_.size());
}

bool StreamSender::can_send() const {
  return HasSlots(config_.slots_per_data) && credits_.available() && !targets_.empty() &&
         HasBuffer();
}

std::optional<StreamTransfer> StreamSender::Next(uint32_t wanted) {
  CHECK(wanted > 0);
  if (!can_send()) return std::nullopt;
  RemoteBuffer& target = targets_.front();
  StreamTransfer transfer = Take(std::min(wanted, target.length), config_.slots_per_data);
  transfer.remote_address = target.address;
  transfer.rkey = target.rkey;
  target.address += transfer.length;
  target.length -= transfer.length;
  if (target.length == 0) static_cast<void>(targets_.TryPop());
  credits_.Take();
  return transfer;
}

std::optional<StreamTransfer> StreamSender::NextDirect(uint32_t wanted) {
  CHECK(wanted > 0);
  if (!can_send_direct()) return std::nullopt;
  return Take(wanted, 1);
}

std::optional<StreamTransfer> StreamSender::NextEntry(uint32_t length) {
  if (!HasSlots(config_.slots_per_data) || !credits_.available() || buffer_.free() < length) {
    return std::nullopt;
  }
  credits_.Take();
  return Take(length, config_.slots_per_data);
}

StreamTransfer StreamSender::Take(uint32_t length, uint32_t slots) {
  slots_used_ += slots;
  StreamTransfer transfer{.length = std::min(length, kTransferMax)};
  if (transfer.length > config_.inline_max) {
    transfer.length = std::min(transfer.length, buffer_.free());
    transfer.local = buffer_.Take(transfer.length);
  }
  return transfer;
}

void StreamSender::OnCompletion(uint32_t slots, uint32_t buffer_bytes) {
  CHECK(slots <= slots_used_);
  slots_used_ -= slots;
  buffer_.Release(buffer_bytes);
}

bool StreamSender::OnTarget(const RemoteBuffer& target) { return targets_.TryPush(target); }

}  // namespace verbena::rsockets
