#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace verbena::cli {

// Conversion between JSON and text. The templates take seconds to compile, so only json.cc
// instantiates them.

// One line, without a line break.
[[nodiscard]] std::string ToLine(const nlohmann::json& json);
// Indented, for people.
[[nodiscard]] std::string ToLines(const nlohmann::json& json);
// Invalid JSON becomes a value that is_discarded().
[[nodiscard]] nlohmann::json FromText(const std::string& text);

// Read fields of untrusted JSON. A field that is missing or of another type is nullopt, false or
// empty.
[[nodiscard]] std::optional<uint64_t> NumberAt(const nlohmann::json& json, const char* name,
                                               uint64_t max = std::numeric_limits<uint64_t>::max());
[[nodiscard]] bool FlagAt(const nlohmann::json& json, const char* name);
[[nodiscard]] std::string TextAt(const nlohmann::json& json, const char* name);

}  // namespace verbena::cli
