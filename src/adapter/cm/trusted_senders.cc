#include "adapter/cm/trusted_senders.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace verbena::adapter {
namespace {

// "00000000:12B7": the address in 32-bit words of the machine's byte order, and the port.
bool IsPortOfAllAddresses(const std::string& local, uint16_t port) {
  const size_t colon = local.find(':');
  if (colon == std::string::npos || colon == 0) return false;
  if (local.find_first_not_of('0') != colon) return false;
  std::istringstream text(local.substr(colon + 1));
  unsigned number = 0;
  return text >> std::hex >> number && number == port;
}

}  // namespace

void AddPortOwners(std::istream& table, uint16_t port, std::vector<uid_t>& owners) {
  std::string line;
  while (owners.size() < TrustedSenders::kOwnersMax && std::getline(table, line)) {
    std::istringstream fields(line);
    std::string slot, local, peer, state, queues, timer, retransmits;
    uid_t user = 0;
    if (!(fields >> slot >> local >> peer >> state >> queues >> timer >> retransmits >> user)) {
      continue;
    }
    if (IsPortOfAllAddresses(local, port)) owners.push_back(user);
  }
}

bool TrustedSenders::IsTrusted(uid_t user, Time now) {
  if (user == 0 || user == geteuid()) return true;
  if (now >= next_read_) {
    next_read_ = now + kRefresh;
    owners_.clear();
    for (const char* path : {"/proc/net/udp", "/proc/net/udp6"}) {
      std::ifstream table(path);
      AddPortOwners(table, base_port_, owners_);
    }
  }
  return std::ranges::find(owners_, user) != owners_.end();
}

}  // namespace verbena::adapter
