#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace verbena::cli {

// Between JSON and text. Both ways take seconds to compile: here once, and not in each user.

// Without a line break.
[[nodiscard]] std::string ToLine(const nlohmann::json& json);
// Indented, for people.
[[nodiscard]] std::string ToLines(const nlohmann::json& json);
// Text that is no JSON becomes a value that is_discarded().
[[nodiscard]] nlohmann::json FromText(const std::string& text);

}  // namespace verbena::cli
