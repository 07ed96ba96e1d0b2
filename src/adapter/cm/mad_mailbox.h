#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "adapter/cm/forwarded_mad.h"
#include "adapter/cm/port_names.h"
#include "adapter/cm/trusted_senders.h"
#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/time.h"
#include "wire/mad/ip_cm.h"

namespace verbena::adapter {

enum class ForwardResult : uint8_t {
  kForwarded,
  kNoListener,  // no process has the port
  kFull,        // net.unix.max_dgram_qlen datagrams wait; the peer retransmits
};

// Sends management datagrams to the processes that have their ports. One thread at a time.
class MadForwarder {
 public:
  [[nodiscard]] static ErrorOr<MadForwarder> Open(uint16_t base_port);

  // Sends to the process that has the port `mad.service` of the address `mad.destination`, which
  // may be this one. Never blocks. One system call, if the port is bound to that address or is
  // ephemeral.
  [[nodiscard]] ForwardResult Forward(const ForwardedMad& mad) const;

 private:
  MadForwarder(FileDescriptor socket, PortNames names)
      : socket_(std::move(socket)), names_(std::move(names)) {}

  FileDescriptor socket_;
  PortNames names_;
};

// The ports of one mailbox.
struct MailboxPorts {
  wire::IpCmProtocol protocol{};
  uint16_t first = 0;
  uint16_t count = 1;

  [[nodiscard]] constexpr bool Has(const wire::IpCmService& service) const {
    return service.protocol == protocol && service.port >= first && service.port - first < count;
  }
};

struct MailboxCounters {
  uint64_t received = 0;
  uint64_t untrusted = 0;  // dropped: the sender is not in TrustedSenders
  uint64_t malformed = 0;  // dropped: no ForwardedMad, or for another port
};

// The mailboxes of this process: the sockets of its exclusive locks, behind one descriptor. One
// thread at a time.
class MadMailboxes {
 public:
  using Handler = std::function<void(const ForwardedMad&)>;

  // Mailboxes read per Receive; the rest keep the descriptor readable.
  static constexpr int kMailboxesPerReceive = 8;
  static constexpr int kMadsPerMailbox = 16;

  [[nodiscard]] static ErrorOr<MadMailboxes> Open(uint16_t base_port);

  // `socket` belongs to a NameLock. REQUIRES: it is removed before it is closed.
  [[nodiscard]] ErrorOr<void> Add(int socket, const MailboxPorts& ports);
  void Remove(int socket);

  // Readable while datagrams wait; for poll and epoll.
  [[nodiscard]] int fd() const { return epoll_.get(); }
  // Reads datagrams, up to the bounds above, and calls `handle` with those that are accepted. Never
  // blocks. REQUIRES: `handle` adds and removes no mailbox.
  void Receive(Time now, const Handler& handle);

  [[nodiscard]] const MailboxCounters& counters() const { return counters_; }

 private:
  MadMailboxes(FileDescriptor epoll, uint16_t base_port)
      : epoll_(std::move(epoll)), trusted_(base_port) {}

  // False if the mailbox is empty.
  bool ReceiveOne(int socket, const MailboxPorts& ports, Time now, const Handler& handle);

  FileDescriptor epoll_;
  TrustedSenders trusted_;
  MailboxCounters counters_;
};

}  // namespace verbena::adapter
