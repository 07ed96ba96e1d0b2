#include "cli/broker_status.h"

#include <charconv>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/byte_count.h"
#include "cli/json.h"
#include "cli/text.h"

namespace verbena::cli {
namespace {

std::string StateOf(const host::StatusRowMessage& guest) {
  if (guest.is_absent) return "absent";
  return guest.is_rogue ? "rogue" : "";
}

}  // namespace

std::string ToTable(const host::BrokerStatus& status) {
  std::string table = Text("budget %s, committed %s, %zu guest%s\n",
                           BytesText(static_cast<double>(status.budget)).c_str(),
                           BytesText(static_cast<double>(status.committed)).c_str(),
                           status.guests.size(), status.guests.size() == 1 ? "" : "s");
  if (status.guests.empty()) return table;
  table += Text("%-16s %8s %12s %12s %12s %12s %10s %10s %10s %8s %7s %6s  %s\n", "guest", "pid",
                "registered", "resident", "swapped", "grant", "faults", "stage 1", "stage 2",
                "quiesced", "waiting", "ops", "state");
  for (const host::StatusRowMessage& guest : status.guests) {
    const auto bytes = [](uint64_t count) { return BytesText(static_cast<double>(count)); };
    std::string line =
        Text("%-16s %8u %12s %12s %12s %12s %10llu %10llu %10llu %8llu %7llu %6llu  %s",
             guest.name.c_str(), guest.pid, bytes(guest.registered).c_str(),
             bytes(guest.resident).c_str(), bytes(guest.swapped).c_str(),
             bytes(guest.grant).c_str(), static_cast<unsigned long long>(guest.faults),
             static_cast<unsigned long long>(guest.stage_faults.first),
             static_cast<unsigned long long>(guest.stage_faults.second),
             static_cast<unsigned long long>(guest.quiesced),
             static_cast<unsigned long long>(guest.waiting),
             static_cast<unsigned long long>(guest.operations), StateOf(guest).c_str());
    line.erase(line.find_last_not_of(' ') + 1);
    table += line + "\n";
  }
  return table;
}

std::string ToJsonText(const host::BrokerStatus& status) {
  nlohmann::json json = {{"budget", status.budget},
                         {"committed", status.committed},
                         {"guests", nlohmann::json::array()}};
  for (const host::StatusRowMessage& guest : status.guests) {
    json["guests"].push_back({{"name", guest.name},
                              {"pid", guest.pid},
                              {"min", guest.limits.min},
                              {"max", guest.limits.max},
                              {"weight", guest.limits.weight},
                              {"registered", guest.registered},
                              {"resident", guest.resident},
                              {"swapped", guest.swapped},
                              {"grant", guest.grant},
                              {"committed", guest.committed},
                              {"faults", guest.faults},
                              {"first_stage_faults", guest.stage_faults.first},
                              {"second_stage_faults", guest.stage_faults.second},
                              {"quiesced", guest.quiesced},
                              {"waiting", guest.waiting},
                              {"operations", guest.operations},
                              {"punched", guest.punched},
                              {"rogue", guest.is_rogue},
                              {"absent", guest.is_absent}});
  }
  return ToLines(json) + "\n";
}

std::optional<host::RegionPart> ParsePart(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto offset = ParseByteCount(std::string_view(text).substr(0, colon));
  const auto length = ParseByteCount(std::string_view(text).substr(colon + 1));
  if (!offset || !length || *length == 0) return std::nullopt;
  return host::RegionPart{*offset, *length};
}

std::optional<host::RegionNumber> ParseRegion(const std::string& text) {
  std::string_view digits = text;
  int base = 10;
  if (digits.starts_with("0x")) {
    digits.remove_prefix(2);
    base = 16;
  }
  uint32_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number, base);
  if (error != std::errc() || stop != end) return std::nullopt;
  return host::RegionNumber(number);
}

}  // namespace verbena::cli
