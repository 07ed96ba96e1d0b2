#include "host/operator_client.h"

#include <poll.h>

#include <cerrno>
#include <utility>
#include <variant>

#include "base/clock.h"
#include "host/channel.h"

namespace verbena::host {
namespace {

constexpr Duration kPatience = Seconds(5);

ErrorOr<BrokerMessage> Await(BrokerChannel& channel, Time end) {
  while (true) {
    if (auto received = channel.Receive()) return std::move(received->message);
    if (channel.has_ended()) return Fail(SystemError(EPIPE, "the broker ended the connection"));
    const Duration left = end - Now();
    if (left <= Duration()) return Fail(SystemError(ETIMEDOUT, "the broker does not answer"));
    pollfd file{.fd = channel.fd(), .events = POLLIN, .revents = 0};
    poll(&file, 1, static_cast<int>(left.nanoseconds() / 1'000'000) + 1);
  }
}

ErrorOr<BrokerChannel> Ask(const std::string& socket, const BrokerMessage& question) {
  auto channel = BrokerChannel::Connect(socket);
  if (!channel) return channel;
  if (channel->Send(question) != BrokerChannel::Status::kDone) {
    return Fail(SystemError(EPIPE, "the broker ended the connection"));
  }
  return channel;
}

Error Unexpected(const BrokerMessage& answer) {
  const auto* const refused = std::get_if<RefusedMessage>(&answer);
  return {ErrorCode::kNotPermitted,
          refused != nullptr ? refused->why : "the broker answers something else"};
}

}  // namespace

ErrorOr<BrokerStatus> QueryStatus(const std::string& socket) {
  auto channel = Ask(socket, StatusRequestMessage{});
  if (!channel) return Fail(channel.error());
  BrokerStatus status;
  const Time end = Now() + kPatience;
  while (true) {
    auto answer = Await(*channel, end);
    if (!answer) return Fail(answer.error());
    if (auto* const row = std::get_if<StatusRowMessage>(&*answer)) {
      status.guests.push_back(std::move(*row));
    } else if (const auto* const last = std::get_if<StatusEndMessage>(&*answer)) {
      status.budget = last->budget;
      status.committed = last->committed;
      return status;
    } else {
      return Fail(Unexpected(*answer));
    }
  }
}

ErrorOr<uint64_t> Operate(const std::string& socket, const OperateMessage& operate) {
  auto channel = Ask(socket, operate);
  if (!channel) return Fail(channel.error());
  const auto answer = Await(*channel, Now() + kPatience);
  if (!answer) return Fail(answer.error());
  const auto* const operated = std::get_if<OperatedMessage>(&*answer);
  if (operated == nullptr) return Fail(Unexpected(*answer));
  if (!operated->error.empty()) return Fail(Error{ErrorCode::kInvalid, operated->error});
  return operated->done;
}

}  // namespace verbena::host
