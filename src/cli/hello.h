#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "verbena/gid.h"
#include "verbena/numbers.h"
#include "verbena/queue_pair.h"
#include "verbena/work_request.h"

namespace verbena::cli {

// The message by which one end tells the other its queue pairs, and the memory that the other can
// access. A value type.
struct Hello {
  std::vector<QpAddress> qps = {};
  RemoteAddress memory = {};
  uint64_t bytes = 0;

  friend bool operator==(const Hello&, const Hello&) = default;
};

[[nodiscard]] nlohmann::json ToJson(const Hello& hello);

// nullopt if `json` is not a valid Hello.
[[nodiscard]] std::optional<Hello> HelloFrom(const nlohmann::json& json);

}  // namespace verbena::cli
