#include "rdmacm/rsocket/stream_receiver.h"

#include <algorithm>

#include "base/check.h"

namespace verbena::rsockets {

StreamReceiver::StreamReceiver(uint32_t buffer_size, uint16_t credits)
    : credits_(credits),
      messages_(credits),
      unread_(buffer_size),
      granted_(buffer_size / 2),
      free_(buffer_size / 2),
      next_grant_(buffer_size / 2) {
  CHECK(buffer_size % 2 == 0);
}

bool StreamReceiver::OnData(uint32_t length) {
  if (length > granted_) return false;
  if (length == 0) {
    OnCounted();
    return true;
  }
  if (!messages_.TryPush(length)) return false;
  granted_ -= length;
  static_cast<void>(unread_.Take(length));
  return true;
}

void StreamReceiver::Consume(uint32_t length) {
  unread_.Release(length);
  free_ += length;
  while (length > 0) {
    uint32_t& message = messages_.front();
    const uint32_t read = std::min(length, message);
    message -= read;
    length -= read;
    if (message > 0) break;
    static_cast<void>(messages_.TryPop());
    credits_.Consume();
  }
}

BufferPart StreamReceiver::GrantHalf() {
  CHECK(half_due());
  const BufferPart granted{.offset = next_grant_, .length = half()};
  free_ -= half();
  granted_ += half();
  next_grant_ = next_grant_ == 0 ? half() : 0;
  return granted;
}

}  // namespace verbena::rsockets
