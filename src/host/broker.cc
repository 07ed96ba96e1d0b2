#include "host/broker.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "host/grant_record.h"
#include "host/protocol.h"

namespace verbena::host {
namespace {

constexpr unsigned kSourceShift = 60;
// Connections that are accepted besides those of guests: operators, and guests that come and go.
constexpr size_t kConnectionsSpare = 256;
// Messages of one connection in a row, so that the others have their turn.
constexpr int kMessagesMax = 64;
// How often debtors are measured.
constexpr Duration kMeasurePeriod = Milliseconds(20);

}  // namespace

ErrorOr<std::unique_ptr<Broker>> Broker::Open(const BrokerOptions& options) {
  auto listener = ListenAt(options.socket);
  if (!listener) return Fail(listener.error());
  // Who may attach is checked by user; a mode would have to name a group.
  const mode_t mode = options.allowed_users.empty() ? 0600 : 0666;
  if (chmod(options.socket.c_str(), mode) != 0) return Fail(SystemError(options.socket));
  FileDescriptor poll(epoll_create1(EPOLL_CLOEXEC));
  if (!poll.is_open()) return Fail(SystemError("epoll_create1"));
  std::unique_ptr<Broker> broker(new Broker(options, std::move(*listener), std::move(poll)));
  if (!broker->Watch(broker->listener_.get(), Source::kListener, 0, EPOLLIN)) {
    return Fail(SystemError("epoll_ctl"));
  }
  broker->Recall();
  if (auto written = WriteRecord(broker->record_, ReadRecord(broker->record_)); !written) {
    return Fail(written.error());
  }
  return broker;
}

Broker::Broker(const BrokerOptions& options, FileDescriptor listener, FileDescriptor poll)
    : options_(options),
      record_(options.socket + ".grants"),
      listener_(std::move(listener)),
      poll_(std::move(poll)),
      arbiter_(options.arbiter),
      buffers_(options.buffers),
      now_(Now()) {}

Broker::~Broker() {
  unlink(options_.socket.c_str());
  if (guests_.empty()) unlink(record_.c_str());
}

// What an earlier broker had granted to guests that still live is kept for them.
void Broker::Recall() {
  for (const RecordedGrant& grant : ReadRecord(record_)) {
    if (StartOf(grant.pid) != grant.started) continue;
    // Its minimum is promised again when it attaches.
    const GuestLimits limits{
        .min = kGuestMinimum, .max = UINT64_MAX, .weight = grant.limits.weight};
    const auto id = arbiter_.Attach(limits, grant.bytes, now_);
    if (!id) {
      Log(LogLevel::kWarning, "broker", grant.name + " is not recalled: " + id.error().text);
      continue;
    }
    arbiter_.OnAbsent(*id, now_);
    Guest guest{.name = grant.name, .pid = grant.pid, .started = grant.started, .limits = limits};
    guest.process = FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, grant.pid, 0)));
    if (guest.process.is_open()) {
      static_cast<void>(Watch(guest.process.get(), Source::kProcess, id->value(), EPOLLIN));
    }
    guests_.emplace(*id, std::move(guest));
    Log(LogLevel::kInfo, "broker", grant.name + " is expected back");
  }
}

bool Broker::Watch(int fd, Source source, uint64_t id, uint32_t events) const {
  epoll_event event{};
  event.events = events;
  event.data.u64 = static_cast<uint64_t>(source) << kSourceShift | id;
  if (epoll_ctl(poll_.get(), EPOLL_CTL_MOD, fd, &event) == 0) return true;
  return errno == ENOENT && epoll_ctl(poll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void Broker::Step(Duration patience) {
  now_ = Now();
  std::array<epoll_event, 256> events;
  const Duration until = std::clamp(arbiter_.next_time() - now_, Duration(), patience);
  const int timeout = static_cast<int>((until.nanoseconds() + 999'999) / 1'000'000);
  const int count =
      epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), timeout);
  now_ = Now();
  for (const epoll_event& event :
       std::span(events).first(static_cast<size_t>(std::max(count, 0)))) {
    const uint64_t id = event.data.u64 & ((uint64_t{1} << kSourceShift) - 1);
    Serve(static_cast<Source>(event.data.u64 >> kSourceShift), id, event.events);
  }
  if (now_ >= measure_at_) MeasureDebtors();
  CarryOut();
  SendBuffers();
}

void Broker::Serve(Source source, uint64_t id, uint32_t events) {
  switch (source) {
    case Source::kListener:
      return Accept();
    case Source::kProcess:
      if (guests_.contains(GuestId(id))) EndGuest(GuestId(id));
      return;
    case Source::kBufferProcess:
      return EndConnection(id);
    case Source::kConnection:
      const auto found = connections_.find(id);
      if (found == connections_.end()) return;
      if ((events & EPOLLOUT) != 0 && !found->second.Flush()) return EndConnection(id);
      return Hear(id);
  }
}

void Broker::Accept() {
  while (true) {
    FileDescriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open()) return;
    if (connections_.size() >= options_.arbiter.guests_max + kConnectionsSpare) continue;
    const ConnectionId id = ++last_connection_;
    const auto [place, is_new] =
        connections_.try_emplace(id, BrokerChannel(std::move(socket)), options_.connection, now_);
    CHECK(is_new);
    WatchConnection(id, place->second);
  }
}

void Broker::WatchConnection(ConnectionId id, BrokerConnection& connection) {
  const uint32_t events =
      (connection.is_throttled(now_) ? 0U : EPOLLIN) | (connection.has_unsent() ? EPOLLOUT : 0U);
  if (events == connection.watched_events) return;
  // One that cannot be watched is tried again when debtors are measured.
  const int fd = connection.channel().fd();
  if (Watch(fd, Source::kConnection, id, events)) connection.watched_events = events;
}

void Broker::Hear(ConnectionId id) {
  BrokerConnection& connection = connections_.at(id);
  for (int i = 0; i < kMessagesMax; ++i) {
    auto received = connection.Receive(now_);
    if (!received) break;
    if (!Handle(id, std::move(*received))) return EndConnection(id);
    if (!connections_.contains(id)) return;
  }
  if (connection.has_ended()) return EndConnection(id);
  WatchConnection(id, connection);
}

void Broker::EndConnection(ConnectionId id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  const std::optional<GuestId> guest = found->second.guest;
  connections_.erase(found);
  buffers_.OnGone(id);
  if (!guest || !guests_.contains(*guest)) return;
  Guest& left = guests_.at(*guest);
  left.connection = 0;
  // Its process may live on, and hold what it has.
  if (StartOf(left.pid) != left.started) return EndGuest(*guest);
  arbiter_.OnAbsent(*guest, now_);
}

void Broker::EndGuest(GuestId id) {
  const auto found = guests_.find(id);
  const ConnectionId connection = found->second.connection;
  Log(LogLevel::kInfo, "broker", found->second.name + " has ended");
  guests_.erase(found);
  arbiter_.OnGone(id, now_);
  if (connection != 0) connections_.erase(connection);
  Record();
}

void Broker::Measure(GuestId id, const Guest& guest) {
  arbiter_.OnResident(id, guest.memory.resident(), now_);
}

// Guests report now and then. Those that have to give something up are measured more often, because
// others wait for it.
void Broker::MeasureDebtors() {
  measure_at_ = now_ + kMeasurePeriod;
  for (const auto& [id, guest] : guests_) {
    const GuestStatus status = arbiter_.Status(id);
    if (status.committed > status.grant || status.is_rogue) Measure(id, guest);
    ReadWords(id, guest);
  }
  std::vector<ConnectionId> silent;
  for (auto& [id, connection] : connections_) {
    const bool is_known = connection.guest || connection.is_operator || buffers_.has_client(id);
    if (!is_known && now_ - connection.since() > options_.hello_time) silent.push_back(id);
    WatchConnection(id, connection);
  }
  for (const ConnectionId id : silent) EndConnection(id);
}

void Broker::ReadWords(GuestId id, const Guest& guest) {
  guest.words.ForEach([&](RegionNumber region, uint32_t operations) {
    arbiter_.SetBusy(id, region, operations > 0);
  });
}

void Broker::CarryOut() {
  if (arbiter_.next_time() <= now_) arbiter_.OnTime(now_);
  const std::vector<ArbiterAction> actions = arbiter_.TakeActions();
  if (actions.empty()) return;
  // Before a guest hears of its grant: a broker that ends in between must know of it.
  Record();
  for (const ArbiterAction& action : actions) CarryOut(action);
}

void Broker::CarryOut(const ArbiterAction& action) {
  const auto found = guests_.find(action.guest);
  if (found == guests_.end()) return;
  Guest& guest = found->second;
  using Kind = ArbiterAction::Kind;
  using Request = RegionRequestMessage::Kind;
  switch (action.kind) {
    case Kind::kGrant:
      return Send(guest, GrantMessage{.bytes = action.bytes, .sequence = action.sequence});
    case Kind::kQuiesce:
      return Send(guest, RegionRequestMessage{action.region, Request::kQuiesce, action.part});
    case Kind::kForce:
      Log(LogLevel::kWarning, "broker", guest.name + " is made to quiesce a region");
      return Send(guest, RegionRequestMessage{action.region, Request::kForce, action.part});
    case Kind::kResume:
      return Send(guest, RegionRequestMessage{action.region, Request::kResume, action.part});
    case Kind::kPunch: {
      const uint64_t taken = guest.memory.Punch(action.bytes);
      guest.punched += taken;
      Log(LogLevel::kWarning, "broker",
          guest.name + " has not given up memory in time: it loses " + std::to_string(taken) +
              " bytes");
      Measure(action.guest, guest);
      return Send(guest, PunchedMessage{.bytes = taken});
    }
    case Kind::kForget:
      Log(LogLevel::kWarning, "broker", guest.name + " loses all its memory");
      guest.memory.TakeAll();
      return EndGuest(action.guest);
  }
}

void Broker::Send(const Guest& guest, const BrokerMessage& message) {
  const auto found = connections_.find(guest.connection);
  if (found == connections_.end()) return;
  if (!found->second.Send(message)) return EndConnection(found->first);
  WatchConnection(found->first, found->second);
}

void Broker::Record() {
  std::vector<RecordedGrant> grants;
  grants.reserve(guests_.size());
  for (const auto& [id, guest] : guests_) {
    grants.push_back(
        {guest.pid, guest.started, arbiter_.Status(id).committed, guest.limits, guest.name});
  }
  if (const auto written = WriteRecord(record_, grants); !written) {
    LogOnce("broker", "a restart would not know what is granted: " + written.error().text);
  }
}

}  // namespace verbena::host
