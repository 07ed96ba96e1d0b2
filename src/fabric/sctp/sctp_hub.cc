#include "fabric/sctp/sctp_hub.h"

#include <sys/epoll.h>
#include <usrsctp.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/when_memory.h"
#include "fabric/sctp/sctp_association.h"
#include "fabric/sctp/sctp_calls.h"

namespace verbena::fabric {
namespace {

constexpr int kDatagramsAtOnce = 32;
// Of a listener that were not taken yet.
constexpr size_t kAcceptedMax = 64;
constexpr Duration kEndingMax = Seconds(5);
// While packets were exchanged recently, timers need their full resolution.
constexpr Duration kBusy = Milliseconds(300);
constexpr Duration kIdleTick = Milliseconds(250);
constexpr size_t kBufferBytes = size_t{64} << 10;

}  // namespace

ErrorOr<std::unique_ptr<SctpHub>> SctpHub::Open() {
  FileDescriptor set(epoll_create1(EPOLL_CLOEXEC));
  if (!set.is_open()) return Fail(SystemError("cannot watch SCTP ports"));
  auto event = EventFile::Open(false);
  if (!event) return Fail(event.error());
  epoll_event interest{};
  interest.events = EPOLLIN;
  interest.data.fd = event->fd();
  if (epoll_ctl(set.get(), EPOLL_CTL_ADD, event->fd(), &interest) != 0) {
    return Fail(SystemError("cannot watch SCTP ports"));
  }
  return std::make_unique<SctpHub>(std::move(set), std::move(*event));
}

SctpHub::SctpHub(FileDescriptor set, EventFile event)
    : set_(std::move(set)), event_(std::move(event)), datagram_(kBufferBytes) {}

SctpHub::~SctpHub() {
  const SctpLock lock(SctpStack::Get());
  for (const auto& association : ending_) Destroy(*association);
  ending_.clear();
}

std::shared_ptr<SctpPort> SctpHub::FindLeft(const CmAddress& address) const {
  const auto found = std::ranges::find_if(ports_, [&](const auto& entry) {
    const Port& port = entry.second;
    return port.owner == nullptr && port.number == address.port &&
           port.port->local().ip == address.ip;
  });
  return found == ports_.end() || address.port == 0 ? nullptr : found->second.port;
}

ErrorOr<void> SctpHub::AddPort(const std::shared_ptr<SctpPort>& port) {
  epoll_event interest{};
  interest.events = EPOLLIN;
  interest.data.fd = port->fd();
  ports_.emplace(port->fd(), Port{.port = port, .number = port->local().port, .users = 1});
  if (epoll_ctl(set_.get(), EPOLL_CTL_ADD, port->fd(), &interest) == 0) return {};
  ports_.erase(port->fd());
  return Fail(SystemError("cannot watch an SCTP port"));
}

void SctpHub::AddUser(const SctpPort& port) { ++ports_.at(port.fd()).users; }

void SctpHub::DropUser(const SctpPort& port) {
  const auto found = ports_.find(port.fd());
  CHECK(found != ports_.end());
  if (--found->second.users > 0) return;
  // A forked child may have the socket, too: closing it here would not be enough.
  epoll_ctl(set_.get(), EPOLL_CTL_DEL, port.fd(), nullptr);
  ports_.erase(found);
}

// The list is intrusive, so that a callback of the library never runs out of memory.
void SctpHub::Push(Association& association) {
  if (association.is_ready) return;
  association.is_ready = true;
  association.next_ready = nullptr;
  (last_ready_ == nullptr ? first_ready_ : last_ready_->next_ready) = &association;
  last_ready_ = &association;
  if (!is_pumping_) SignalReady();
}

void SctpHub::SignalReady() {
  if (first_ready_ == nullptr || is_signaled_) return;
  is_signaled_ = true;
  event_.Signal();
}

void SctpHub::Forget(Association& association) {
  std::erase(associations_, &association);
  if (!association.is_ready) return;
  association.is_ready = false;
  Association* before = nullptr;
  for (Association* at = first_ready_; at != &association; at = at->next_ready) before = at;
  (before == nullptr ? first_ready_ : before->next_ready) = association.next_ready;
  if (last_ready_ == &association) last_ready_ = before;
}

size_t SctpHub::TakeReady(std::span<ReadyId> room) {
  const SctpLock lock(SctpStack::Get());
  size_t count = 0;
  while (first_ready_ != nullptr && count < room.size()) {
    Association& association = *first_ready_;
    first_ready_ = association.next_ready;
    if (first_ready_ == nullptr) last_ready_ = nullptr;
    association.is_ready = false;
    if (HasWanted(association)) room[count++] = association.id;
  }
  if (first_ready_ == nullptr && is_signaled_) {
    static_cast<void>(event_.TryWait());
    is_signaled_ = false;
  }
  SignalReady();
  return count;
}

void SctpHub::Pump(Time now) {
  SctpStack& stack = SctpStack::Get();
  const SctpLock lock(stack);
  now_ = now;
  is_pumping_ = true;
  std::array<epoll_event, 16> events;
  const int count = epoll_wait(set_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const auto found = ports_.find(events[static_cast<size_t>(i)].data.fd);
    if (found == ports_.end()) continue;
    last_traffic_ = now;
    // Without memory the packet is lost, as any may be.
    static_cast<void>(WhenMemory([&]() VERBENA_UNDER_CALLERS_LOCK { ReceiveFrom(found->second); }));
  }
  stack.OnTime(now);
  FinishEnding(now);
  is_pumping_ = false;
}

void SctpHub::ReceiveFrom(Port& port) {
  SctpStack& stack = SctpStack::Get();
  stack.AssertHeld();
  for (int i = 0; i < kDatagramsAtOnce; ++i) {
    const SctpPort::Received received = port.port->Receive(datagram_);
    if (received.is_refused) {
      port.is_refused = true;
      continue;
    }
    if (received.size == 0) {
      if (port.is_refused) OnRefused(port);
      return;
    }
    const auto packet = std::span(datagram_).first(received.size);
    if (port.listener != nullptr && SctpStack::BeginsAssociation(packet) &&
        stack.PathOf(stack.IdOf(*port.port, received.path)) == nullptr) {
      PrepareFor(*port.listener, received.path);
    }
    stack.Input(port.port, port.number, received.path, packet,
                [&](SctpLinkId link) { return AcceptOn(port, link); });
  }
}

// The system has heard that nothing has the peer's port, and what came before was received.
void SctpHub::OnRefused(Port& port) {
  if (port.connector == nullptr) return;
  port.connector->is_refused = true;
  Push(*port.connector);
}

// True if an association by this link was accepted.
bool SctpHub::AcceptOn(Port& port, SctpLinkId link) {
  bool stays = false;
  if (port.listener == nullptr) return stays;
  Association& listener = *port.listener;
  sockaddr_conn from{};
  socklen_t size = sizeof from;
  while (UsrSocket* const accepted =
             usrsctp_accept(listener.socket, reinterpret_cast<sockaddr*>(&from), &size)) {
    const SctpLinkId its_link(reinterpret_cast<uint64_t>(from.sconn_addr));
    const bool has_room = its_link == link && listener.accepted.size() < kAcceptedMax;
    const bool is_kept = has_room && WhenMemory([&] {
                           auto association = std::make_unique<Association>(*this, listener.port,
                                                                            listener.adaptation);
                           associations_.reserve(associations_.size() + 1);
                           listener.accepted.push_back(std::move(association));
                         });
    if (!is_kept) {
      Abort(accepted);
      continue;
    }
    Association& association = *listener.accepted.back();
    association.socket = accepted;
    association.link = link;
    AdoptPath(association);
    associations_.push_back(&association);
    AddUser(*port.port);
    stays = true;
    Push(listener);
    size = sizeof from;
  }
  return stays;
}

void SctpHub::EndLater(std::unique_ptr<Association> association) {
  association->ends_by = now_ + kEndingMax;
  association->wanted = {};
  ending_.push_back(std::move(association));
}

void SctpHub::FinishEnding(Time now) {
  std::erase_if(ending_, [&](const std::unique_ptr<Association>& association) {
    if (IsAlive(*association) && now < association->ends_by) return false;
    Destroy(*association);
    return true;
  });
}

void SctpHub::Destroy(Association& association) {
  SctpHub& hub = association.hub;
  for (const auto& accepted : association.accepted) Destroy(*accepted);
  association.accepted.clear();
  hub.Forget(association);
  const auto port = hub.ports_.find(association.port->fd());
  if (port->second.owner == &association) port->second.owner = nullptr;
  if (port->second.listener == &association) port->second.listener = nullptr;
  if (port->second.connector == &association) port->second.connector = nullptr;
  if (association.socket != nullptr) Abort(association.socket);
  association.socket = nullptr;
  SctpStack& stack = SctpStack::Get();
  stack.AssertHeld();
  if (association.link != SctpLinkId()) stack.RemoveLink(association.link);
  hub.DropUser(*association.port);
}

bool SctpHub::has_unacknowledged() const {
  const SctpLock lock(SctpStack::Get());
  return !ending_.empty() || std::ranges::any_of(associations_, [](const Association* one) {
    return HasUnacknowledged(*one);
  });
}

void SctpHub::OnTime(Time now) {
  Pump(now);
  const SctpLock lock(SctpStack::Get());
  SignalReady();
}

Time SctpHub::next_time() const {
  const SctpLock lock(SctpStack::Get());
  if (associations_.empty() && ending_.empty()) return Time::Never();
  return now_ + (now_ < last_traffic_ + kBusy ? SctpStack::kTick : kIdleTick);
}

}  // namespace verbena::fabric
