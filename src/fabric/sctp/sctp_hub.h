#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/event_file.h"
#include "base/result.h"
#include "base/time.h"
#include "fabric/file_descriptor.h"
#include "fabric/sctp/sctp_port.h"
#include "fabric/sctp/sctp_stack.h"
#include "fabric/tcp/ready_set.h"

namespace verbena::fabric {

// The SCTP sockets of one adapter: their ports, and which of them are ready. Moves datagrams
// between the ports and the stack of the process.
//
// Its owner guards it; another thread may wait for fd(). Its lists are under the stack's mutex,
// because the packets and timers of another adapter's pass may make its sockets ready.
class SctpHub {
 public:
  [[nodiscard]] static ErrorOr<std::unique_ptr<SctpHub>> Open();
  SctpHub(FileDescriptor set, EventFile event);
  SctpHub(const SctpHub&) = delete;
  SctpHub& operator=(const SctpHub&) = delete;
  // REQUIRES: its sockets are gone. Those that end gracefully are ended at once.
  ~SctpHub();

  // Readable while there is work for Pump or TakeReady.
  [[nodiscard]] int fd() const { return set_.get(); }
  // Receives datagrams, and lets time pass. TakeReady is to follow.
  void Pump(Time now);
  // The same, when next_time() has come; TakeReady need not follow.
  void OnTime(Time now);
  // The sockets that have inputs they are watched for, as many as there is room for.
  [[nodiscard]] size_t TakeReady(std::span<ReadyId> room);
  // When OnTime is to be called.
  [[nodiscard]] Time next_time() const;
  // A message that was sent is not acknowledged yet.
  [[nodiscard]] bool has_unacknowledged() const;

  struct Association;

 private:
  friend class SctpSocket;
  friend void ReportEvents(Association& association);

  struct Port {
    std::shared_ptr<SctpPort> port;
    uint16_t number = 0;
    uint32_t users = 0;
    Association* owner = nullptr;     // that was bound to it
    Association* listener = nullptr;  // the owner, if it listens or connects
    Association* connector = nullptr;
    bool is_refused = false;  // the peer's port is closed
  };

  // Under the stack's mutex, all of them.
  // The port of connections whose listener is gone; nullptr if they have none at this address.
  [[nodiscard]] std::shared_ptr<SctpPort> FindLeft(const CmAddress& address) const;
  [[nodiscard]] ErrorOr<void> AddPort(const std::shared_ptr<SctpPort>& port);
  void AddUser(const SctpPort& port);
  void DropUser(const SctpPort& port);
  void ReceiveFrom(Port& port);
  bool AcceptOn(Port& port, SctpLinkId link);
  void OnRefused(Port& port);
  void Push(Association& association);
  void SignalReady();
  void Forget(Association& association);
  // Ends it gracefully in the background.
  void EndLater(std::unique_ptr<Association> association);
  void FinishEnding(Time now);
  static void Destroy(Association& association);

  const FileDescriptor set_;  // the ports, and event_
  const EventFile event_;
  std::unordered_map<int, Port> ports_;  // by their descriptor
  std::vector<Association*> associations_;
  std::vector<std::unique_ptr<Association>> ending_;
  Association* first_ready_ = nullptr;
  Association* last_ready_ = nullptr;
  bool is_pumping_ = false;
  bool is_signaled_ = false;
  Time last_traffic_;
  Time now_;
  std::vector<std::byte> datagram_;
};

}  // namespace verbena::fabric
