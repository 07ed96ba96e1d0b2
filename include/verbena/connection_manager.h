#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "verbena/cm_event.h"
#include "verbena/context.h"
#include "verbena/error.h"
#include "verbena/handle.h"

namespace verbena {

namespace verbs {
struct CmChannelObject;
struct CmIdObject;
}  // namespace verbs

// Where the events of ids wait for the program. Bounded: see Options.
class CmChannel : public Handle<verbs::CmChannelObject> {
 public:
  [[nodiscard]] static ErrorOr<CmChannel> Create();
  CmChannel() = default;

  // Readable while there are events. The program may set O_NONBLOCK.
  [[nodiscard]] int fd() const;

  // Takes the oldest event. Waits for one unless fd() is non-blocking, and makes progress
  // meanwhile. nullopt if there is none (EAGAIN), or if a signal handler ran (EINTR).
  [[nodiscard]] std::optional<CmEvent> Wait() const;

  // Adds an event of type kPosted for `user`, behind those that wait.
  [[nodiscard]] ErrorOr<void> Post(void* user, uint16_t reason) const;
  // Drops the events for `user` that were posted.
  void Withdraw(void* user) const;

 private:
  explicit CmChannel(std::shared_ptr<verbs::CmChannelObject> object) : Handle(std::move(object)) {}
};

// Which connections a listener of an iWARP device serves; the first bytes of each say what it
// carries (docs/iwarp.md, "Which stream it is"). The others are refused, each as its protocol does.
struct CmListenOptions {
  bool rdma = true;    // Accept with a queue pair of type RC
  bool iscsi = false;  // these two with one of type STREAM
  bool plain = false;
  // Together with `plain`: a connection whose bytes have not decided by then is plain. For peers
  // that wait for this side to begin. (With `plain` alone there is nothing to decide.)
  std::chrono::nanoseconds silence = std::chrono::seconds(1);
};

struct CmBindOptions {
  bool reuse_address = false;
  bool own_family_only = false;  // an IPv6 wildcard does not include IPv4
};

// One end of a connection that is made by address and port, or a listener for such connections, or
// an end of a datagram service. docs/connection-manager.md has the messages and states.
//
// The program moves its queue pair itself: to RTR and RTS when the peer has accepted or is
// accepted, to error when the connection has ended.
//
// Destroying an id ends its connection, releases its port, and drops its events.
class CmId : public Handle<verbs::CmIdObject> {
 public:
  // Events go to `channel`, with `user` in them.
  [[nodiscard]] static ErrorOr<CmId> Create(const Context& context, const CmChannel& channel,
                                            PortSpace space, void* user);
  // The end that a request asks for. Once for each request event: requests that are not taken are
  // rejected when the listener is destroyed.
  [[nodiscard]] static ErrorOr<CmId> Take(const Context& context, const CmChannel& channel,
                                          const CmEvent& request, void* user);
  CmId() = default;

  // Port 0: an ephemeral one. REFUSES (os_error EADDRINUSE, EADDRNOTAVAIL, EACCES) what sockets
  // refuse, with regard to all processes of this network namespace.
  [[nodiscard]] ErrorOr<void> Bind(const CmAddress& address, const CmBindOptions& options = {});
  // The address that Bind has found or that the request was sent to.
  [[nodiscard]] CmAddress local() const;

  // At most `backlog` requests wait to be taken and answered; further ones are rejected.
  // Devices of other transports have the default options only.
  [[nodiscard]] ErrorOr<void> Listen(uint32_t backlog, const CmListenOptions& options = {});

  // A request to `to`, from the address of `from`, which is one of this machine; the port that is
  // bound is in it. Of a datagram service (CmService::kUd) only private_data counts. Answered by
  // kConnectResponse, kSidrResponse, kRejected, kUnreachable or kSidrUnreachable.
  [[nodiscard]] ErrorOr<void> Connect(const IpAddress& from, const CmAddress& to,
                                      const ConnectionParameters& parameters);
  // Of a request that was taken. Datagram services: qp, qkey and private_data count.
  [[nodiscard]] ErrorOr<void> Accept(const ConnectionParameters& parameters);
  // `reason` 0: by the consumer (28, or 2 for datagrams).
  [[nodiscard]] ErrorOr<void> Reject(const CmPrivateData& data, uint16_t reason = 0);
  // The answer to kConnectResponse.
  [[nodiscard]] ErrorOr<void> Establish();
  // The passive side has received data before the peer's confirmation.
  [[nodiscard]] ErrorOr<void> NotifyEstablished();
  [[nodiscard]] ErrorOr<void> Disconnect(const CmPrivateData& data = {});

  // Events go to another channel from now on, those included that wait.
  [[nodiscard]] ErrorOr<void> Migrate(const CmChannel& channel);
  // What the events of this id carry from now on, those included that wait.
  void set_user(void* user);

 private:
  explicit CmId(std::shared_ptr<verbs::CmIdObject> object) : Handle(std::move(object)) {}
};

// The address of this machine that packets to `destination` leave from. Fails with os_error
// ENETUNREACH or EHOSTUNREACH where there is no route.
[[nodiscard]] ErrorOr<IpAddress> SourceAddressFor(const CmAddress& destination);

}  // namespace verbena
