#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace verbena::cli {

// Fields of JSON that came from elsewhere: what is missing, or is of another kind, is nothing.
[[nodiscard]] std::optional<uint64_t> NumberAt(const nlohmann::json& json, const char* name,
                                               uint64_t max = std::numeric_limits<uint64_t>::max());
[[nodiscard]] bool FlagAt(const nlohmann::json& json, const char* name);
[[nodiscard]] std::string TextAt(const nlohmann::json& json, const char* name);

}  // namespace verbena::cli
