#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "host/messages.h"

namespace verbena::host {

// What a broker answers to its operator.
struct BrokerStatus {
  uint64_t budget = 0;
  uint64_t committed = 0;
  std::vector<StatusRowMessage> guests = {};
};

// Each waits for a few seconds at most.
[[nodiscard]] ErrorOr<BrokerStatus> QueryStatus(const std::string& socket);
// How many regions were asked to change.
[[nodiscard]] ErrorOr<uint64_t> Operate(const std::string& socket, const OperateMessage& operate);

}  // namespace verbena::host
