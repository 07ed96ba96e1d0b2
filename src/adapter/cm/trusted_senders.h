#pragma once

#include <sys/types.h>

#include <cstdint>
#include <istream>
#include <vector>

#include "base/time.h"

namespace verbena::adapter {

// Whose datagrams a mailbox accepts: those of the same user, of root, and of the user that has the
// RoCEv2 port on all addresses of this network namespace, where requests of peers arrive.
//
// One thread at a time.
class TrustedSenders {
 public:
  // The tables of the kernel are not read more often than this. So a user that has closed the port
  // is trusted for this much longer.
  static constexpr Duration kRefresh = Milliseconds(100);
  static constexpr size_t kOwnersMax = 8;  // there is one, or one per family

  explicit TrustedSenders(uint16_t base_port) : base_port_(base_port) {}

  // `user`: of the datagram's SCM_CREDENTIALS.
  [[nodiscard]] bool IsTrusted(uid_t user, Time now);

 private:
  uint16_t base_port_;
  Time next_read_{};
  std::vector<uid_t> owners_;
};

// Adds the users of the sockets that are bound to the port on all addresses, from a text like
// /proc/net/udp or /proc/net/udp6. Adds to `owners` up to its limit; skips malformed lines.
void AddPortOwners(std::istream& table, uint16_t port, std::vector<uid_t>& owners);

}  // namespace verbena::adapter
