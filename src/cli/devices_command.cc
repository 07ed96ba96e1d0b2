#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/json.h"
#include "cli/kernel_features.h"
#include "cli/text.h"
#include "verbena/verbena.h"

namespace verbena::cli {
namespace {

constexpr const char* kDevicesExamples =
    "Examples:\n"
    "  verbena devices\n"
    "  verbena devices --json | jq '.devices[0].gids[].gid'\n";

struct Limit {
  const char* name;
  uint64_t value;
};

std::vector<Limit> LimitsOf(const Options& options) {
  return {{"queue pairs", options.qps_max},
          {"completion queues", options.cqs_max},
          {"shared receive queues", options.srqs_max},
          {"protection domains", options.domains_max},
          {"regions and windows", options.key_slots_max},
          {"requests in a queue", options.queue_depth_max},
          {"completions in a queue", options.completion_depth_max},
          {"scatter/gather elements", options.sges_max},
          {"inline bytes", options.inline_max},
          {"outstanding reads and atomics", options.reads_max}};
}

struct Found {
  Device device;
  std::vector<GidEntry> gids;
  std::vector<std::string> warnings;
};

// Opens the device once, to check that this works and to collect its warnings.
ErrorOr<Found> LookAt(const Device& device) {
  const auto gids = device.Gids();
  if (!gids) return tl::unexpected(gids.error());
  const auto context = device.Open();
  if (!context) return tl::unexpected(context.error());
  return Found{device, *gids, context->TakeWarnings()};
}

const char* TransportText(const Device& device) {
  return IsIwarp(device.limits().transport) ? "iWARP" : "RoCE";
}

nlohmann::json ToJson(const Found& found) {
  nlohmann::json json = {{"name", found.device.name()},
                         {"transport", TransportText(found.device)},
                         {"gids", nlohmann::json::array()},
                         {"notes", found.warnings}};
  for (const GidEntry& entry : found.gids) {
    json["gids"].push_back({{"gid", ToString(entry.gid)},
                            {"interface", entry.interface_name},
                            {"mtu", entry.mtu},
                            {"up", entry.up}});
  }
  for (const Limit& limit : LimitsOf(found.device.limits())) {
    json["limits"][limit.name] = limit.value;
  }
  return json;
}

void Print(const Found& found) {
  const bool is_up = std::ranges::any_of(found.gids, &GidEntry::up);
  std::printf("%s: port 1, %s, %s\n", found.device.name().c_str(), is_up ? "active" : "down",
              TransportText(found.device));
  if (!is_up) {
    std::printf(
        "  no network interface is up, so nothing can be reached, not even this machine itself;\n"
        "  as root, ip link set lo up is enough for that\n");
  }
  std::printf("  GIDs%s\n", found.gids.empty() ? ": none" : "");
  for (size_t i = 0; i < found.gids.size(); ++i) {
    const GidEntry& entry = found.gids[i];
    std::printf("    %2zu  %-28s %s, MTU %u%s\n", i, ToString(entry.gid).c_str(),
                entry.interface_name.c_str(), entry.mtu, entry.up ? "" : ", down");
  }
  std::printf("  at most\n");
  for (const Limit& limit : LimitsOf(found.device.limits())) {
    std::printf("    %10llu  %s\n", static_cast<unsigned long long>(limit.value), limit.name);
  }
  for (const std::string& warning : found.warnings) std::printf("  note: %s\n", warning.c_str());
}

void Print(const std::vector<KernelFeature>& features) {
  std::printf("the kernel\n");
  for (const KernelFeature& feature : features) {
    std::printf("  %-8s %s: %s\n", feature.is_found ? "has" : "has not", feature.name.c_str(),
                feature.meaning.c_str());
  }
}

Outcome RunJson(const std::vector<Found>& all) {
  nlohmann::json json;
  for (const Found& found : all) json["devices"].push_back(ToJson(found));
  for (const KernelFeature& feature : ProbeKernel()) {
    json["kernel"].push_back(
        {{"name", feature.name}, {"found", feature.is_found}, {"meaning", feature.meaning}});
  }
  std::printf("%s\n", ToLines(json).c_str());
  return {};
}

Outcome Run(bool json) {
  std::vector<Found> all;
  for (const Device& device : ListDevices()) {
    auto found = LookAt(device);
    if (!found) return tl::unexpected(std::move(found.error()));
    all.push_back(std::move(*found));
  }
  if (json) return RunJson(all);
  for (const Found& found : all) Print(found);
  Print(ProbeKernel());
  return {};
}

}  // namespace

void AddDevicesCommand(Command root, Outcome& outcome) {
  const auto json = std::make_shared<bool>(false);
  Command command = root.AddCommand(
      "devices", "print the device, its GIDs and limits, and the features of the kernel");
  command.AddFlag("--json", *json, "print results as JSON");
  command.SetExamples(kDevicesExamples);
  command.SetWork([json, &outcome] { outcome = Run(*json); });
}

}  // namespace verbena::cli
