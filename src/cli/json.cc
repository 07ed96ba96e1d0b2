#include "cli/json.h"

#include <nlohmann/json.hpp>

namespace verbena::cli {

std::string ToLine(const nlohmann::json& json) { return json.dump(); }

std::string ToLines(const nlohmann::json& json) { return json.dump(2); }

nlohmann::json FromText(const std::string& text) {
  constexpr bool kThrows = false;
  return nlohmann::json::parse(text, nullptr, kThrows);
}

std::optional<uint64_t> NumberAt(const nlohmann::json& json, const char* name, uint64_t max) {
  if (!json.contains(name) || !json[name].is_number_unsigned()) return std::nullopt;
  const auto number = json[name].get<uint64_t>();
  return number <= max ? std::optional(number) : std::nullopt;
}

bool FlagAt(const nlohmann::json& json, const char* name) {
  return json.contains(name) && json[name].is_boolean() && json[name].get<bool>();
}

std::string TextAt(const nlohmann::json& json, const char* name) {
  if (!json.contains(name) || !json[name].is_string()) return "";
  return json[name].get<std::string>();
}

}  // namespace verbena::cli
