#include "cli/json_text.h"

#include <nlohmann/json.hpp>

namespace verbena::cli {

std::string ToLine(const nlohmann::json& json) { return json.dump(); }

std::string ToLines(const nlohmann::json& json) { return json.dump(2); }

nlohmann::json FromText(const std::string& text) {
  constexpr bool kThrows = false;
  return nlohmann::json::parse(text, nullptr, kThrows);
}

}  // namespace verbena::cli
