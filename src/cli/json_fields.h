#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace verbena::cli {

// Read fields of untrusted JSON. A field that is missing or of another type is nullopt, false or
// empty.
[[nodiscard]] std::optional<uint64_t> NumberAt(const nlohmann::json& json, const char* name,
                                               uint64_t max = std::numeric_limits<uint64_t>::max());
[[nodiscard]] bool FlagAt(const nlohmann::json& json, const char* name);
[[nodiscard]] std::string TextAt(const nlohmann::json& json, const char* name);

}  // namespace verbena::cli
