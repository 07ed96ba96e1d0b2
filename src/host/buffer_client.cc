#include "host/buffer_client.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>
#include <variant>

#include "base/clock.h"
#include "base/log.h"
#include "base/quiet_thread.h"
#include "base/rollback.h"
#include "base/when_memory.h"

namespace verbena::host {
namespace {

// How long a broker that reads nothing may hold a call up.
constexpr int kSendPatienceMs = 1'000;

Error ForkedError() {
  return {ErrorCode::kForked, "the connection with the broker is the parent's"};
}
Error LostError() { return SystemError(EPIPE, "the broker has ended the connection"); }

void PollFor(int fd, short events, int milliseconds) {
  pollfd file{.fd = fd, .events = events, .revents = 0};
  poll(&file, 1, milliseconds);
}

}  // namespace

BufferClient::BufferClient(const BufferClientOptions& options, EventFile stop)
    : options_(options),
      stop_(std::move(stop)),
      process_(getpid()),
      retry_pause_(options.retry_min) {}

ErrorOr<std::shared_ptr<BufferClient>> BufferClient::Open(const BufferClientOptions& options) {
  auto stop = EventFile::Open(false);
  if (!stop) return Fail(stop.error());
  std::shared_ptr<BufferClient> client(new BufferClient(options, std::move(*stop)));
  auto channel = client->Connect();
  if (!channel) return Fail(channel.error());
  client->channel_ = std::move(*channel);
  client->thread_ = StartQuietThread("verbena-buffers", [client = client.get()] { client->Run(); });
  return client;
}

BufferClient::~BufferClient() {
  if (!thread_.joinable()) return;
  if (is_child()) {
    thread_.detach();  // it is not in this process
    return;
  }
  stop_.Signal();
  thread_.join();
}

bool BufferClient::is_child() const { return getpid() != process_; }

ErrorOr<BrokerChannel> BufferClient::Connect() const {
  auto channel = BrokerChannel::Connect(options_.socket);
  if (!channel) return channel;
  const BufferHelloMessage hello{.version = kProtocolVersion};
  if (channel->Send(hello) != BrokerChannel::Status::kDone) return Fail(LostError());
  for (const Time end = Now() + options_.answer_patience; Now() < end;) {
    if (const auto received = channel->Receive()) {
      if (const auto* const refused = std::get_if<RefusedMessage>(&received->message)) {
        return Fail(Error{ErrorCode::kNotPermitted, "the broker refuses: " + refused->why});
      }
      if (std::holds_alternative<BufferWelcomeMessage>(received->message)) return channel;
      return Fail(SystemError(EPROTO, "the broker answers something else"));
    }
    if (channel->has_ended()) return Fail(LostError());
    PollFor(channel->fd(), POLLIN, 10);
  }
  return Fail(SystemError(ETIMEDOUT, "the broker does not answer"));
}

bool BufferClient::Send(const BrokerMessage& message, int file) {
  if (!channel_) return false;
  for (int waited = 0; waited < kSendPatienceMs; waited += 10) {
    const BrokerChannel::Status status = channel_->Send(message, file);
    if (status == BrokerChannel::Status::kDone) return true;
    if (status == BrokerChannel::Status::kEnded) break;
    PollFor(channel_->fd(), POLLOUT, 10);
  }
  Lose();
  return false;
}

void BufferClient::SendOrLose(const BrokerMessage& message) noexcept {
  if (!WhenMemory([&] { static_cast<void>(Send(message)); })) Lose();
}

template <class Message>
ErrorOr<BufferClient::Answer> BufferClient::Call(Message message, int file,
                                                 std::optional<PublicationId> publication) {
  if (is_child()) return Fail(ForkedError());
  Lock lock(mutex_);
  if (!channel_) {
    return Fail(SystemError(EPIPE, "no broker answers at " + options_.socket));
  }
  const uint64_t request = message.request = ++last_request_;
  const auto place = answers_.try_emplace(request).first;
  const Rollback forget([&] { answers_.erase(place); });
  if (publication) publishing_.emplace(request, *publication);
  const uint64_t losses = losses_;
  if (Send(message, file)) {
    const auto patience = std::chrono::nanoseconds(options_.answer_patience.nanoseconds());
    answered_.wait_for(lock, patience,
                       [&] { return place->second.outcome.has_value() || losses_ != losses; });
  }
  Answer answer = std::move(place->second);
  if (!answer.outcome && losses_ != losses) return Fail(LostError());
  if (!answer.outcome) return Fail(SystemError(ETIMEDOUT, "the broker does not answer"));
  if (!*answer.outcome) return Fail(answer.outcome->error());
  return answer;
}

// The thread knows of it before the broker does: it may have to be published again at any moment.
ErrorOr<BufferClient::PublicationId> BufferClient::Publish(const SharedBuffer& buffer,
                                                           FileDescriptor file) {
  if (is_child()) return Fail(ForkedError());
  const int fd = file.get();
  PublicationId id = 0;
  {
    const Lock lock(mutex_);
    id = ++last_publication_;
    publications_.emplace(id, Publication{buffer, std::move(file)});
  }
  Rollback forget([&] { Withdraw(id); });
  const auto answer = Call(BufferPublishMessage{.buffer = buffer}, fd, id);
  if (!answer) return Fail(answer.error());
  forget.Keep();
  return id;
}

void BufferClient::Withdraw(PublicationId id) noexcept {
  if (is_child()) return;
  const Lock lock(mutex_);
  const auto found = publications_.find(id);
  const auto number = found->second.number;
  publications_.erase(found);
  if (number) SendOrLose(BufferWithdrawMessage{*number});
}

bool BufferClient::IsListed(PublicationId id) {
  if (is_child()) return false;
  const Lock lock(mutex_);
  return publications_.at(id).number.has_value();
}

ErrorOr<BufferClient::Found> BufferClient::Find(const std::string& name, Access access) {
  auto answer = Call(BufferFindMessage{.name = name, .access = access}, -1);
  if (!answer) return Fail(answer.error());
  return std::move(*answer->found);
}

ErrorOr<BufferClient::Found> BufferClient::Find(int file, uint64_t offset, uint64_t length,
                                                Access access) {
  auto answer = Call(
      BufferFindMessage{.name = {}, .offset = offset, .length = length, .access = access}, file);
  if (!answer) return Fail(answer.error());
  return std::move(*answer->found);
}

void BufferClient::Release(BufferNumber number, const EndFlag& has_ended) noexcept {
  if (is_child()) return;
  const Lock lock(mutex_);
  const auto found = found_.find(number);
  // The next broker may have given the number to another buffer.
  if (found == found_.end() || found->second.has_ended != has_ended) return;
  if (--found->second.handles == 0) found_.erase(found);
  SendOrLose(BufferReleaseMessage{number});
}

ErrorOr<std::vector<SharedBufferEntry>> BufferClient::List() {
  std::vector<SharedBufferEntry> list;
  for (bool is_all = false; !is_all;) {
    const BufferNumber after = list.empty() ? BufferNumber() : list.back().number;
    auto answer = Call(BufferListMessage{.after = after}, -1);
    if (!answer) return Fail(answer.error());
    is_all = answer->is_all || answer->rows.empty();
    for (SharedBufferEntry& row : answer->rows) list.push_back(std::move(row));
  }
  return list;
}

void BufferClient::Finish(uint64_t request, ErrorOr<void> outcome) {
  const auto found = answers_.find(request);
  if (found == answers_.end()) return;
  found->second.outcome = std::move(outcome);
  answered_.notify_all();
}

void BufferClient::Handle(BrokerChannel::Received received) {
  const BrokerMessage& message = received.message;
  if (const auto* const found = std::get_if<BufferFoundMessage>(&message)) {
    HandleFound(*found, std::move(received.file));
  } else if (const auto* const published = std::get_if<BufferPublishedMessage>(&message)) {
    HandlePublished(*published);
  } else if (const auto* const failed = std::get_if<BufferFailedMessage>(&message)) {
    HandleFailed(*failed);
  } else if (const auto* const ended = std::get_if<BufferEndedMessage>(&message)) {
    const auto at = found_.find(ended->number);
    if (at == found_.end()) return;
    at->second.has_ended->store(true, std::memory_order_release);
    found_.erase(at);
  } else if (const auto* const row = std::get_if<BufferRowMessage>(&message)) {
    const auto at = answers_.find(row->request);
    if (at != answers_.end()) at->second.rows.push_back(row->entry);
  } else if (const auto* const rows = std::get_if<BufferRowsMessage>(&message)) {
    const auto at = answers_.find(rows->request);
    if (at != answers_.end()) at->second.is_all = rows->is_all;
    Finish(rows->request, {});
  }
}

// A call that has given up needs no buffer.
void BufferClient::HandleFound(const BufferFoundMessage& message, FileDescriptor file) {
  const auto at = answers_.find(message.request);
  if (at == answers_.end()) {
    static_cast<void>(Send(BufferReleaseMessage{message.entry.number}));
    return;
  }
  FoundBuffer& found = found_[message.entry.number];
  if (found.has_ended == nullptr) found.has_ended = std::make_shared<std::atomic<bool>>(false);
  ++found.handles;
  at->second.found = Found{message.entry, std::move(file), found.has_ended};
  Finish(message.request, {});
}

void BufferClient::HandlePublished(const BufferPublishedMessage& message) {
  const auto publishing = publishing_.extract(message.request);
  const auto at = publishing ? publications_.find(publishing.mapped()) : publications_.end();
  if (at == publications_.end()) {  // withdrawn meanwhile
    static_cast<void>(Send(BufferWithdrawMessage{message.number}));
    return;
  }
  at->second.number = message.number;
  Finish(message.request, {});
}

void BufferClient::HandleFailed(const BufferFailedMessage& message) {
  const bool is_publishing = publishing_.erase(message.request) == 1;
  if (is_publishing && !answers_.contains(message.request)) {
    Log(LogLevel::kWarning, "broker", "a buffer is not shared any more: " + message.why);
  }
  Finish(message.request,
         Fail(Error{message.code, message.why, static_cast<int>(message.os_error)}));
}

void BufferClient::Lose() noexcept {
  channel_.reset();
  for (auto& [number, found] : found_) found.has_ended->store(true, std::memory_order_release);
  found_.clear();
  for (auto& [id, publication] : publications_) publication.number.reset();
  publishing_.clear();
  ++losses_;
  answered_.notify_all();
}

void BufferClient::PublishAgain() {
  for (const auto& [id, publication] : publications_) {
    if (!channel_) return;
    const uint64_t request = ++last_request_;
    publishing_.emplace(request, id);
    static_cast<void>(
        Send(BufferPublishMessage{request, publication.buffer}, publication.file.get()));
  }
}

void BufferClient::Run() {
  while (!is_stopping_) {
    // Without memory a message is lost, and so all that was agreed: the broker is called again.
    if (WhenMemory([&] { Step(); })) continue;
    const Lock lock(mutex_);
    Lose();
  }
}

void BufferClient::Step() {
  int fd = -1;
  {
    const Lock lock(mutex_);
    while (channel_) {
      auto received = channel_->Receive();
      if (!received) break;
      Handle(std::move(*received));
    }
    if (channel_ && channel_->has_ended()) Lose();
    if (channel_) fd = channel_->fd();
  }
  if (fd >= 0) {
    retry_pause_ = options_.retry_min;
    retry_at_ = Now() + retry_pause_;
    return Wait(fd, Seconds(1));
  }
  Wait(-1, retry_at_ - Now());
  if (is_stopping_ || Now() < retry_at_) return;
  retry_pause_ = std::min(retry_pause_ * 2, options_.retry_max);
  retry_at_ = Now() + retry_pause_;
  auto channel = Connect();
  if (!channel) return;
  const Lock lock(mutex_);
  channel_ = std::move(*channel);
  PublishAgain();
}

void BufferClient::Wait(int fd, Duration patience) {
  std::array<pollfd, 2> files = {{{.fd = stop_.fd(), .events = POLLIN, .revents = 0},
                                  {.fd = fd, .events = POLLIN, .revents = 0}}};
  const int64_t milliseconds = std::clamp<int64_t>(patience.nanoseconds() / 1'000'000, 1, 1'000);
  poll(files.data(), files.size(), static_cast<int>(milliseconds));
  if ((files[0].revents & POLLIN) != 0) is_stopping_ = true;
}

}  // namespace verbena::host
