#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace verbena::cli {

// Conversion between JSON and text. The templates take seconds to compile, so only json_text.cc
// instantiates them.

// One line, without a line break.
[[nodiscard]] std::string ToLine(const nlohmann::json& json);
// Indented, for people.
[[nodiscard]] std::string ToLines(const nlohmann::json& json);
// Invalid JSON becomes a value that is_discarded().
[[nodiscard]] nlohmann::json FromText(const std::string& text);

}  // namespace verbena::cli
