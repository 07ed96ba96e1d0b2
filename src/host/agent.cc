#include "host/agent.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/quiet_thread.h"
#include "base/when_memory.h"
#include "host/protocol.h"

namespace verbena::host {
namespace {

// How often memory that is to be given up is looked at.
constexpr Duration kObeyPeriod = Milliseconds(2);

// A broker that has died leaves its socket behind; the other one has too many callers.
bool MayComeBack(const Error& error) {
  return error.os_error == ECONNREFUSED || error.os_error == EAGAIN;
}

}  // namespace

Agent::Agent(const AgentOptions& options, GuestMemory& memory, EventFile stop)
    : options_(options),
      memory_(memory),
      stop_(std::move(stop)),
      attach_until_(Now() + options.attach_patience),
      retry_pause_(options.retry_min) {}

ErrorOr<std::unique_ptr<Agent>> Agent::Start(const AgentOptions& options, GuestMemory& memory) {
  if (!IsGuestName(options.name)) {
    return Fail(Error{ErrorCode::kInvalid, "'" + options.name +
                                               "' is no name of a guest: 1 to 31 letters, digits, "
                                               "'.', '_' and '-'"});
  }
  auto stop = EventFile::Open(false);
  if (!stop) return Fail(stop.error());
  auto channel = BrokerChannel::Connect(options.socket);
  if (!channel && !MayComeBack(channel.error())) return Fail(channel.error());
  std::unique_ptr<Agent> agent(new Agent(options, memory, std::move(*stop)));
  if (channel) {
    agent->channel_ = std::move(*channel);
  } else {
    agent->EndTry(channel.error());
  }
  agent->thread_ = StartQuietThread("verbena-agent", [agent = agent.get()] { agent->Run(); });
  std::unique_lock lock(agent->mutex_);
  const auto patience = std::chrono::nanoseconds(options.grant_patience.nanoseconds());
  const bool is_answered =
      agent->first_.wait_for(lock, patience, [&] { return agent->first_result_.has_value(); });
  if (!is_answered) {
    return Fail(SystemError(
        ETIMEDOUT, "the broker at " + options.socket + " has not granted any memory in time"));
  }
  if (!*agent->first_result_) return Fail(agent->first_result_->error());
  lock.unlock();
  return agent;
}

Agent::~Agent() {
  if (!thread_.joinable()) return;
  stop_.Signal();
  thread_.join();
}

void Agent::Run() {
  while (!is_stopping_) {
    // Without memory it tries again: nothing was sent then that was not kept.
    static_cast<void>(WhenMemory([&] {
      if (channel_) {
        Serve();
      } else {
        Retry();
      }
    }));
  }
  if (channel_) static_cast<void>(channel_->Send(GoodbyeMessage{}));
}

void Agent::Retry() {
  Wait(retry_at_ - Now());
  if (is_stopping_ || Now() < retry_at_) return;
  auto channel = BrokerChannel::Connect(options_.socket);
  if (!channel) return EndTry(channel.error());
  channel_ = std::move(*channel);
}

// A guest that has never had a grant fails when this has gone on for too long.
void Agent::EndTry(Error why) {
  const Time now = Now();
  retry_at_ = now + retry_pause_;
  retry_pause_ = std::min(retry_pause_ * 2, options_.retry_max);
  if (now >= attach_until_) SetFirst(Fail(std::move(why)));
}

void Agent::Serve() {
  is_welcome_ = false;
  memory_.Withdraw();
  unobeyed_.reset();
  files_.clear();
  regions_.clear();
  knows_words_ = false;
  reported_.reset();
  Send(HelloMessage{.name = options_.name, .limits = options_.limits, .held = grant_});
  while (channel_ && !is_stopping_) {
    while (channel_) {
      auto received = channel_->Receive();
      if (!received) break;
      Handle(received->message);
    }
    if (channel_ && channel_->has_ended()) channel_.reset();
    if (channel_ && is_welcome_) Declare();
    if (!channel_) break;
    const Duration pause = unobeyed_ ? kObeyPeriod : options_.report_period;
    Wait(std::min(pause, memory_.next_time() - Now()));
  }
  if (is_stopping_) return;
  EndTry({ErrorCode::kSystem, "the broker has ended the connection"});
}

void Agent::Wait(Duration patience) {
  std::array<pollfd, 3> files = {
      {{.fd = stop_.fd(), .events = POLLIN, .revents = 0},
       {.fd = memory_.event_fd(), .events = POLLIN, .revents = 0},
       {.fd = channel_ ? channel_->fd() : -1, .events = POLLIN, .revents = 0}}};
  // Without a broker there is no one to send events to; they stay until there is.
  if (!channel_ || !is_welcome_) files[1].fd = -1;
  const int64_t milliseconds = std::clamp<int64_t>(patience.nanoseconds() / 1'000'000, 1, 1'000);
  poll(files.data(), files.size(), static_cast<int>(milliseconds));
  if ((files[0].revents & POLLIN) != 0) is_stopping_ = true;
}

void Agent::Declare() {
  const Time now = Now();
  if (unobeyed_) Acknowledge();
  SendEvents();
  if (now < report_at_) return;
  report_at_ = now + options_.report_period;
  DeclareFiles();
  DeclareWords();
  DeclareRegions();
  Report();
}

void Agent::DeclareFiles() {
  const std::vector<GuestMemory::File> files = memory_.Files();
  std::set<uint32_t> now;
  for (const GuestMemory::File& file : files) {
    now.insert(file.number);
    if (files_.contains(file.number)) continue;
    Send(MemoryMessage{.number = file.number, .bytes = file.bytes}, file.fd);
  }
  for (const uint32_t number : files_) {
    if (!now.contains(number)) Send(MemoryEndedMessage{.number = number});
  }
  files_ = std::move(now);
}

// Before a region that has one.
void Agent::DeclareWords() {
  const int file = memory_.WordsFile();
  if (knows_words_ || file < 0) return;
  Send(WordsMessage{}, file);
  knows_words_ = true;
}

void Agent::DeclareRegions() {
  const std::vector<GuestMemory::Region> regions = memory_.Regions();
  std::set<RegionNumber> now;
  for (const GuestMemory::Region& region : regions) {
    now.insert(region.number);
    if (regions_.contains(region.number)) continue;
    // A region may have come with the first word since DeclareWords: it is declared next time.
    if (region.word > 0 && !knows_words_) {
      now.erase(region.number);
      continue;
    }
    Send(RegionMessage{
        .region = region.number, .bytes = region.bytes, .out = region.out, .word = region.word});
    if (region.out > 0 && region.is_awaited) {
      SendEvent(region.number, RegionEventMessage::Kind::kInterest);
    }
  }
  for (const RegionNumber region : regions_) {
    if (!now.contains(region)) SendEvent(region, RegionEventMessage::Kind::kEnded);
  }
  regions_ = std::move(now);
}

void Agent::Report() {
  const GuestMemory::Use use = memory_.QueryUse();
  const UseMessage message{.use = use.use, .swapped = use.swapped, .faults = use.faults};
  if (reported_ == message) return;
  reported_ = message;
  Send(message);
}

void Agent::Acknowledge() {
  if (memory_.QueryUse().resident > unobeyed_->bytes) return;
  Send(ObeyedMessage{.sequence = unobeyed_->sequence});
  unobeyed_.reset();
}

void Agent::SendEvents() {
  for (const GuestMemory::Event& event : memory_.TakeEvents()) {
    switch (event.kind) {
      case GuestMemory::Event::Kind::kQuiesced:
        SendEvent(event.region, RegionEventMessage::Kind::kQuiesced);
        break;
      case GuestMemory::Event::Kind::kInterest:
        SendEvent(event.region, RegionEventMessage::Kind::kInterest);
        break;
      case GuestMemory::Event::Kind::kReset:
        // It is declared again, if it is still there.
        SendEvent(event.region, RegionEventMessage::Kind::kEnded);
        regions_.erase(event.region);
        report_at_ = {};
        break;
    }
  }
}

void Agent::Handle(const BrokerMessage& message) {
  if (const auto* const grant = std::get_if<GrantMessage>(&message)) return HandleGrant(*grant);
  if (const auto* const request = std::get_if<RegionRequestMessage>(&message)) {
    return HandleRegion(*request);
  }
  if (const auto* const punched = std::get_if<PunchedMessage>(&message)) {
    Log(LogLevel::kError, "broker",
        std::to_string(punched->bytes) +
            " bytes of registered memory are lost: they were not "
            "given up in time");
  } else if (std::holds_alternative<WelcomeMessage>(message)) {
    is_welcome_ = true;
    retry_pause_ = options_.retry_min;
    report_at_ = {};
  } else if (const auto* const refused = std::get_if<RefusedMessage>(&message)) {
    SetFirst(Fail(Error{ErrorCode::kNotPermitted, "the broker refuses: " + refused->why}));
    LogOnce("broker", "it refuses: " + refused->why);
    retry_pause_ = options_.retry_max;
    channel_.reset();
  }
}

void Agent::HandleGrant(const GrantMessage& grant) {
  if (const auto done = memory_.SetBudget(grant.bytes); !done) {
    // The broker finds out, and takes what it needs.
    LogOnce("broker", done.error().text);
  }
  grant_ = grant.bytes;
  unobeyed_ = grant;
  Acknowledge();
  if (grant.bytes >= options_.limits.min) SetFirst({});
}

void Agent::HandleRegion(const RegionRequestMessage& request) {
  switch (request.kind) {
    case RegionRequestMessage::Kind::kQuiesce:
      return memory_.Quiesce(request.region, request.part, false);
    case RegionRequestMessage::Kind::kForce:
      return memory_.Quiesce(request.region, request.part, true);
    case RegionRequestMessage::Kind::kResume:
      memory_.Resume(request.region);
      // Events from before belong before it.
      SendEvents();
      return SendEvent(request.region, RegionEventMessage::Kind::kResumed);
  }
}

// The broker reads all the time; one that does not, or is gone, is called again.
void Agent::Send(const BrokerMessage& message, int file) {
  if (!channel_) return;
  for (int i = 0; i < 1'000; ++i) {
    const BrokerChannel::Status status = channel_->Send(message, file);
    if (status == BrokerChannel::Status::kDone) return;
    if (status == BrokerChannel::Status::kEnded) break;
    pollfd room{.fd = channel_->fd(), .events = POLLOUT, .revents = 0};
    poll(&room, 1, 10);
  }
  channel_.reset();
}

void Agent::SendEvent(RegionNumber region, RegionEventMessage::Kind kind) {
  Send(RegionEventMessage{region, kind});
}

void Agent::SetFirst(ErrorOr<void> result) {
  const std::lock_guard lock(mutex_);
  if (first_result_) return;
  first_result_ = std::move(result);
  first_.notify_all();
}

}  // namespace verbena::host
