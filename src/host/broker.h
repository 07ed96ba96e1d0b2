#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/time.h"
#include "host/arbiter.h"
#include "host/broker_connection.h"
#include "host/buffer_service.h"
#include "host/guest_words.h"
#include "host/memory_files.h"

namespace verbena::host {

// The settings of a broker, each with its default and its reason.
struct BrokerOptions {
  ArbiterOptions arbiter;
  std::string socket;
  // Users besides the broker's own, and root, whose processes may be guests. They cannot operate
  // the broker.
  std::vector<uid_t> allowed_users = {};
  // Limits of guests by their name, in place of what they ask for.
  std::map<std::string, GuestLimits> limits = {};
  // What guests without such limits may ask for: a larger minimum would shut others out.
  uint64_t asked_min_max = UINT64_MAX;
  uint32_t asked_weight_max = 1'000;
  size_t memory_files_max = 256;  // of one guest: an arena has one, and a file descriptor here
  // How long a connection may be silent before it says what it is.
  Duration hello_time = Seconds(5);
  ConnectionOptions connection = {};
  BufferOptions buffers = {};
};

// The hypervisor as a process: guests attach over a Unix socket, and the broker carries out what
// the arbiter decides. It is never in the way of their data.
//
// A guest is trusted as far as its own memory goes: what it has in memory is measured by the
// kernel, and what it does not give up is taken. It sees nothing of other guests.
//
// What is granted is recorded in a file beside the socket (grant_record.h), before a guest hears of
// it. A broker that finds such a record keeps what is in it for the guests, until they come back or
// have ended.
//
// One thread.
class Broker {
 public:
  [[nodiscard]] static ErrorOr<std::unique_ptr<Broker>> Open(const BrokerOptions& options);
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;
  // The socket is removed; the record stays, for guests that are there.
  ~Broker();

  // Serves what is there, and waits for `patience` at most if nothing is.
  void Step(Duration patience);

  [[nodiscard]] const Arbiter& arbiter() const { return arbiter_; }
  [[nodiscard]] const BufferDirectory& buffers() const { return buffers_.directory(); }
  [[nodiscard]] size_t connection_count() const { return connections_.size(); }

 private:
  // A connection, from when it is accepted.
  using ConnectionId = uint64_t;
  // A guest. It outlives its connection as long as its process may hold memory.
  struct Guest {
    std::string name;
    pid_t pid = 0;
    uint64_t started = 0;
    GuestLimits limits = {};
    MemoryFiles memory = {};
    GuestWords words = {};
    FileDescriptor process = {};  // a pidfd; none of a guest that was recorded only
    ConnectionId connection = 0;  // 0: it is absent
    UseMessage use = {};
    uint64_t punched = 0;
  };
  // What can be heard from, as epoll returns it.
  enum class Source : uint8_t { kListener, kConnection, kProcess, kBufferProcess };

  Broker(const BrokerOptions& options, FileDescriptor listener, FileDescriptor poll);

  void Recall();
  [[nodiscard]] bool Watch(int fd, Source source, uint64_t id, uint32_t events) const;
  void Serve(Source source, uint64_t id, uint32_t events);
  void Accept();
  [[nodiscard]] bool IsAllowed(const BrokerConnection& connection, bool as_operator) const;

  // Waits for what the connection needs now: to be read, unless it is throttled, and to be written.
  void WatchConnection(ConnectionId id, BrokerConnection& connection);
  void Hear(ConnectionId id);
  // False if the connection is to be ended.
  [[nodiscard]] bool Handle(ConnectionId id, BrokerChannel::Received received);
  [[nodiscard]] bool Attach(ConnectionId id, const HelloMessage& hello);
  [[nodiscard]] bool HandleGuest(GuestId id, Guest& guest, BrokerChannel::Received received);
  [[nodiscard]] bool HandleMemory(GuestId id, Guest& guest, const MemoryMessage& memory,
                                  FileDescriptor file);
  [[nodiscard]] bool HandleRegion(GuestId id, Guest& guest, const RegionMessage& region);
  void HandleRegion(GuestId id, const RegionEventMessage& event);
  [[nodiscard]] bool AttachBuffers(ConnectionId id, const BufferHelloMessage& hello);
  void SendBuffers();
  [[nodiscard]] bool SendStatus(BrokerConnection& connection);
  [[nodiscard]] bool Operate(BrokerConnection& connection, const OperateMessage& operate);
  [[nodiscard]] bool Refuse(BrokerConnection& connection, const std::string& why) const;

  void EndConnection(ConnectionId id);
  void EndGuest(GuestId id);
  void Measure(GuestId id, const Guest& guest);
  void MeasureDebtors();
  void ReadWords(GuestId id, const Guest& guest);
  [[nodiscard]] ErrorOr<GuestLimits> LimitsOf(const HelloMessage& hello) const;
  [[nodiscard]] uint64_t TakeRecorded(const std::string& name, pid_t pid, uint64_t started);

  void CarryOut();
  void CarryOut(const ArbiterAction& action);
  void Send(const Guest& guest, const BrokerMessage& message);
  void Record();

  const BrokerOptions options_;
  const std::string record_;
  const FileDescriptor listener_;
  const FileDescriptor poll_;
  Arbiter arbiter_;
  std::map<ConnectionId, BrokerConnection> connections_;
  std::map<GuestId, Guest> guests_;
  BufferService buffers_;
  ConnectionId last_connection_ = 0;
  Time now_;
  Time measure_at_;
};

}  // namespace verbena::host
