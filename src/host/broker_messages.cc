#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/log.h"
#include "host/broker.h"
#include "host/grant_record.h"
#include "host/protocol.h"

// The part of broker.h that answers messages.

namespace verbena::host {
namespace {

bool IsInside(RegionPart part, uint64_t bytes) {
  return part.is_whole() || (part.offset < bytes && part.length <= bytes - part.offset);
}

}  // namespace

bool Broker::IsAllowed(const BrokerConnection& connection, bool as_operator) const {
  const auto peer = connection.channel().peer();
  if (!peer) return false;
  if (peer->uid == 0 || peer->uid == geteuid()) return true;
  return !as_operator && std::ranges::count(options_.allowed_users, peer->uid) > 0;
}

bool Broker::Refuse(BrokerConnection& connection, const std::string& why) const {
  static_cast<void>(connection.Send(RefusedMessage{why}));
  return false;
}

bool Broker::Handle(ConnectionId id, BrokerChannel::Received received) {
  BrokerConnection& connection = connections_.at(id);
  if (connection.guest) {
    return HandleGuest(*connection.guest, guests_.at(*connection.guest), std::move(received));
  }
  if (buffers_.has_client(id)) return buffers_.Handle(id, std::move(received));
  if (const auto* const hello = std::get_if<HelloMessage>(&received.message)) {
    return Attach(id, *hello);
  }
  if (const auto* const hello = std::get_if<BufferHelloMessage>(&received.message)) {
    return AttachBuffers(id, *hello);
  }
  if (!IsAllowed(connection, true)) {
    return Refuse(connection, "only the broker's user, and root, may operate it");
  }
  connection.is_operator = true;
  if (std::holds_alternative<StatusRequestMessage>(received.message)) return SendStatus(connection);
  if (const auto* const operate = std::get_if<OperateMessage>(&received.message)) {
    return Operate(connection, *operate);
  }
  return false;
}

ErrorOr<GuestLimits> Broker::LimitsOf(const HelloMessage& hello) const {
  const auto found = options_.limits.find(hello.name);
  if (found != options_.limits.end()) return found->second;
  if (hello.limits.min > options_.asked_min_max) {
    return Fail(Error{ErrorCode::kLimit, "a guest may ask for a minimum of " +
                                             std::to_string(options_.asked_min_max) +
                                             " bytes at most"});
  }
  if (hello.limits.weight > options_.asked_weight_max) {
    return Fail(Error{ErrorCode::kLimit, "a guest may ask for a weight of " +
                                             std::to_string(options_.asked_weight_max) +
                                             " at most"});
  }
  return hello.limits;
}

bool Broker::Attach(ConnectionId id, const HelloMessage& hello) {
  BrokerConnection& connection = connections_.at(id);
  if (hello.version != kProtocolVersion) {
    return Refuse(connection, "the guest speaks version " + std::to_string(hello.version) +
                                  " of the protocol, and the broker version " +
                                  std::to_string(kProtocolVersion));
  }
  if (!IsGuestName(hello.name)) return Refuse(connection, "this is no name of a guest");
  if (!IsAllowed(connection, false)) {
    return Refuse(connection, "the user of the guest is not allowed (--allow-user)");
  }
  if (options_.arbiter.budget == 0) {
    return Refuse(connection, "the broker has no memory for guests (verbena broker --budget)");
  }
  const auto limits = LimitsOf(hello);
  if (!limits) return Refuse(connection, limits.error().text);
  Guest guest{.name = hello.name, .pid = connection.channel().peer()->pid, .limits = *limits};
  guest.process = FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, guest.pid, 0)));
  const auto started = StartOf(guest.pid);
  if (!guest.process.is_open() || !started) return Refuse(connection, "its process is not there");
  guest.started = *started;
  guest.connection = id;
  const auto attached =
      arbiter_.Attach(*limits, TakeRecorded(guest.name, guest.pid, guest.started), now_);
  if (!attached) return Refuse(connection, attached.error().text);
  connection.guest = *attached;
  // A socket can outlive the process, in a child of its.
  if (!Watch(guest.process.get(), Source::kProcess, attached->value(), EPOLLIN)) {
    arbiter_.OnGone(*attached, now_);
    connection.guest.reset();
    return Refuse(connection, "the broker cannot watch its process");
  }
  Log(LogLevel::kInfo, "broker", guest.name + " has attached");
  guests_.emplace(*attached, std::move(guest));
  Record();
  return connection.Send(WelcomeMessage{.guest = *attached});
}

// A guest that comes back has what it had. It is known by its process, whatever it says.
uint64_t Broker::TakeRecorded(const std::string& name, pid_t pid, uint64_t started) {
  const auto is_it = [&](const auto& entry) {
    const Guest& guest = entry.second;
    return guest.connection == 0 && guest.pid == pid && guest.started == started &&
           guest.name == name;
  };
  const auto found = std::ranges::find_if(guests_, is_it);
  if (found == guests_.end()) return 0;
  const uint64_t committed = arbiter_.Status(found->first).committed;
  arbiter_.OnGone(found->first, now_);
  guests_.erase(found);
  return committed;
}

bool Broker::HandleGuest(GuestId id, Guest& guest, BrokerChannel::Received received) {
  const BrokerMessage& message = received.message;
  if (const auto* const use = std::get_if<UseMessage>(&message)) {
    guest.use = *use;
    Measure(id, guest);
    arbiter_.OnUse(id, use->use, now_);
  } else if (const auto* const obeyed = std::get_if<ObeyedMessage>(&message)) {
    Measure(id, guest);
    arbiter_.OnAcknowledged(id, obeyed->sequence, now_);
  } else if (const auto* const memory = std::get_if<MemoryMessage>(&message)) {
    return HandleMemory(id, guest, *memory, std::move(received.file));
  } else if (const auto* const ended = std::get_if<MemoryEndedMessage>(&message)) {
    guest.memory.Remove(ended->number);
    arbiter_.SetRegistered(id, guest.memory.bytes(), now_);
    Measure(id, guest);
  } else if (const auto* const region = std::get_if<RegionMessage>(&message)) {
    return HandleRegion(id, guest, *region);
  } else if (std::holds_alternative<WordsMessage>(message)) {
    const auto opened = guest.words.Open(std::move(received.file));
    if (!opened) Log(LogLevel::kWarning, "broker", guest.name + ": " + opened.error().text);
    return opened.has_value();
  } else if (const auto* const event = std::get_if<RegionEventMessage>(&message)) {
    HandleRegion(id, *event);
  } else if (std::holds_alternative<GoodbyeMessage>(message)) {
    EndGuest(id);
  } else {
    return false;
  }
  return true;
}

bool Broker::HandleMemory(GuestId id, Guest& guest, const MemoryMessage& memory,
                          FileDescriptor file) {
  const auto added =
      guest.memory.Add(memory.number, std::move(file), memory.bytes, options_.memory_files_max);
  if (!added) {
    Log(LogLevel::kWarning, "broker", guest.name + ": " + added.error().text);
    return false;
  }
  arbiter_.SetRegistered(id, guest.memory.bytes(), now_);
  Measure(id, guest);
  return true;
}

bool Broker::HandleRegion(GuestId id, Guest& guest, const RegionMessage& region) {
  if (!arbiter_.AddRegion(id, region.region, region.bytes, region.out, now_)) {
    Log(LogLevel::kWarning, "broker", guest.name + " has too many regions, or one twice");
    return false;
  }
  if (region.word == 0 || guest.words.Add(region.region, region.word)) return true;
  Log(LogLevel::kWarning, "broker", guest.name + " has no such current-I/O word");
  return false;
}

void Broker::HandleRegion(GuestId id, const RegionEventMessage& event) {
  switch (event.kind) {
    case RegionEventMessage::Kind::kQuiesced:
      return arbiter_.OnRegionQuiesced(id, event.region, now_);
    case RegionEventMessage::Kind::kResumed:
      return arbiter_.OnRegionResumed(id, event.region, now_);
    case RegionEventMessage::Kind::kInterest:
      return arbiter_.OnInterest(id, event.region, now_);
    case RegionEventMessage::Kind::kEnded:
      guests_.at(id).words.Remove(event.region);
      return arbiter_.RemoveRegion(id, event.region, now_);
  }
}

bool Broker::SendStatus(BrokerConnection& connection) {
  for (const auto& [id, guest] : guests_) {
    Measure(id, guest);
    const GuestStatus status = arbiter_.Status(id);
    const StatusRowMessage row{.name = guest.name,
                               .pid = static_cast<uint32_t>(guest.pid),
                               .limits = guest.limits,
                               .registered = guest.memory.bytes(),
                               .resident = status.resident,
                               .swapped = guest.use.swapped,
                               .grant = status.grant,
                               .committed = status.committed,
                               .faults = guest.use.use.faults,
                               .stage_faults = guest.use.faults,
                               .quiesced = status.quiesced,
                               .waiting = status.waiting,
                               .operations = guest.words.operations(),
                               .punched = guest.punched,
                               .is_rogue = status.is_rogue,
                               .is_absent = status.is_absent};
    if (!connection.Send(row)) return false;
  }
  return connection.Send(StatusEndMessage{arbiter_.budget(), arbiter_.committed()});
}

bool Broker::Operate(BrokerConnection& connection, const OperateMessage& operate) {
  OperatedMessage answer;
  bool has_guest = false, is_outside = false;
  for (const auto& [id, guest] : guests_) {
    if (guest.name != operate.guest || guest.connection == 0) continue;
    has_guest = true;
    std::vector<RegionNumber> regions;
    for (const auto& [region, state] : arbiter_.Regions(id).regions()) {
      if (!operate.all_regions && region != operate.region) continue;
      is_outside |= !IsInside(operate.part, state.bytes);
      if (!is_outside) regions.push_back(region);
    }
    for (const RegionNumber region : regions) {
      if (operate.kind == OperateMessage::Kind::kQuiesce) {
        arbiter_.Quiesce(id, region, operate.part, operate.hold, now_);
      } else {
        arbiter_.Resume(id, region);
      }
    }
    answer.done += regions.size();
  }
  if (!has_guest) {
    answer.error = "there is no guest " + operate.guest;
  } else if (is_outside) {
    answer.error = "the part does not lie in a region of " + operate.guest;
  } else if (answer.done == 0) {
    answer.error = operate.guest + (operate.all_regions ? " has no region" : " has no such region");
  }
  return connection.Send(answer);
}

}  // namespace verbena::host
