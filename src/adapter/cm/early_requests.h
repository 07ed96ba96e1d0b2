#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "base/time.h"
#include "transport/cm/cm_peer.h"
#include "wire/mad/ip_cm.h"
#include "wire/mad/mad_header.h"

namespace verbena::adapter {

// Connection requests for ports without a listener, which wait before they are refused: programs
// race their own listen. perftest with -R and qperf make one connection, tell each other of a
// second by it, and then race for that: the client to connect, the server to listen. The client of
// perftest does not survive a refusal: its second attempt uses ids that the first has destroyed.
//
// A request is offered again after 1 ms, 2 ms, 4 ms and so on, because its listener may be another
// process, which says nothing to this one.
//
// Bounded; its owner guards it.
class EarlyRequests {
 public:
  struct Request {
    std::array<std::byte, wire::kMadSize> mad{};
    transport::CmPeer from;
    wire::IpCmService service{};
    bool is_forwarded = false;  // because this process has bound the port, or its block
  };

  static constexpr std::size_t kMax = 256;
  // What a process needs between a message of its own and its listen, if it has a CPU.
  static constexpr Duration kListenSoon = Milliseconds(10);
  // A port that had a listener a moment ago, of any protocol, or that this process has bound, is
  // likely to have one, if not soon. Half the time after which a request of ours is sent again.
  static constexpr Duration kListenLikely = Milliseconds(500);
  static constexpr Duration kMomentAgo = Seconds(2);
  static constexpr std::size_t kPortsMax = 64;

  // A request for this port has found a listener.
  void NoteListener(uint16_t port, Time now);

  // False if kMax wait already: the request is to be refused.
  [[nodiscard]] bool Hold(const Request& request, Time now);
  // The service has a listener now: its requests are due.
  void OnListen(const wire::IpCmService& service, Time now);

  struct Held {
    Request request;
    Duration delay{};  // until it is offered again
    Time end;          // when it is to be refused
  };
  // One that is to be offered again, if there is one.
  [[nodiscard]] std::optional<Held> TakeDue(Time now);
  // After it was offered in vain. False if its time is over: it is to be refused.
  [[nodiscard]] bool HoldAgain(const Held& held, Time now);

  [[nodiscard]] Time next_time() const {
    return waiting_.empty() ? Time::Never() : waiting_.begin()->first;
  }

 private:
  struct Port {
    uint16_t number;
    Time listened_on;
  };

  [[nodiscard]] bool IsListenLikely(const Request& request, Time now) const;
  [[nodiscard]] bool HadListener(uint16_t port, Time now) const;

  std::multimap<Time, Held> waiting_;  // by when they are offered again
  std::deque<Port> ports_;             // by time
};

}  // namespace verbena::adapter
