#pragma once

#include <deque>
#include <memory>

#include "fabric/sctp/sctp_hub.h"

struct socket;  // of usrsctp

namespace verbena::fabric {

using UsrSocket = struct ::socket;

// A socket of usrsctp, and what its hub knows of it. Under the stack's mutex.
struct SctpHub::Association {
  Association(SctpHub& of, std::shared_ptr<SctpPort> at, uint32_t indication)
      : hub(of), port(std::move(at)), adaptation(indication) {}

  SctpHub& hub;
  const std::shared_ptr<SctpPort> port;
  const uint32_t adaptation;
  UsrSocket* socket = nullptr;
  SctpLinkId link = {};  // none: 0
  SctpPath path = {};
  size_t datagram_max = 0;

  ReadyId id = {};
  Interest wanted = {};
  bool has_more = false;  // the owner has messages to read
  bool is_ready = false;  // in the list
  Association* next_ready = nullptr;

  std::deque<std::unique_ptr<Association>> accepted;  // of a listener
  bool is_listener = false;
  bool is_blocked = false;      // the last message found no room, and nothing was received since
  bool is_refused = false;      // the peer's port is closed
  bool has_adaptation = false;  // the peer has given the right indication
  bool is_broken = false;
  bool has_ended = false;  // the peer has shut it down
  Time ends_by = {};
};

}  // namespace verbena::fabric
