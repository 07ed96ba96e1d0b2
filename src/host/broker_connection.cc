#include "host/broker_connection.h"

#include <algorithm>
#include <utility>

namespace verbena::host {

BrokerConnection::BrokerConnection(BrokerChannel channel, const ConnectionOptions& options,
                                   Time now)
    : channel_(std::move(channel)),
      options_(options),
      since_(now),
      allowance_(options.burst_max),
      refilled_(now) {}

bool BrokerConnection::Send(const BrokerMessage& message,
                            std::shared_ptr<const FileDescriptor> file) {
  if (unsent_.size() >= options_.unsent_max) return false;
  unsent_.push_back({message, std::move(file)});
  return Flush();
}

bool BrokerConnection::Flush() {
  while (!unsent_.empty()) {
    const Unsent& next = unsent_.front();
    const int file = next.file != nullptr ? next.file->get() : FileDescriptor::kNone;
    switch (channel_.Send(next.message, file)) {
      case BrokerChannel::Status::kDone:
        unsent_.pop_front();
        break;
      case BrokerChannel::Status::kFull:
        return true;
      case BrokerChannel::Status::kEnded:
        return false;
    }
  }
  return true;
}

std::optional<BrokerChannel::Received> BrokerConnection::Receive(Time now) {
  if (is_throttled(now)) return std::nullopt;
  auto received = channel_.Receive();
  if (received) allowance_ -= 1;
  return received;
}

bool BrokerConnection::is_throttled(Time now) {
  Refill(now);
  return allowance_ < 1;
}

void BrokerConnection::Refill(Time now) {
  const double seconds = static_cast<double>((now - refilled_).nanoseconds()) * 1e-9;
  refilled_ = now;
  allowance_ = std::min<double>(options_.burst_max,
                                allowance_ + seconds * static_cast<double>(options_.rate));
}

}  // namespace verbena::host
