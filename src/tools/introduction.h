#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "verbena/gid.h"
#include "verbena/numbers.h"
#include "verbena/queue_pair.h"
#include "verbena/work_request.h"

namespace verbena::tools {

// What one end tells the other about itself: its queue pairs, and the memory that the other may
// use. A value type.
struct Introduction {
  std::vector<QpAddress> qps = {};
  RemoteAddress memory = {};
  uint64_t bytes = 0;

  friend bool operator==(const Introduction&, const Introduction&) = default;
};

[[nodiscard]] nlohmann::json ToJson(const Introduction& introduction);

// Nothing if it is not one, whoever sent it.
[[nodiscard]] std::optional<Introduction> IntroductionFrom(const nlohmann::json& json);

}  // namespace verbena::tools
