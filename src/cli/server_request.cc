#include "cli/server_request.h"

#include <nlohmann/json.hpp>

#include "cli/json.h"

namespace verbena::cli {
namespace {

constexpr uint64_t kQpsMax = 8'192;
constexpr uint64_t kReceivesMax = 4'096;
constexpr uint64_t kBytesMax = uint64_t{1} << 30;

}  // namespace

nlohmann::json ToJson(const ServerRequest& request) {
  return {{"type", static_cast<unsigned>(request.type)},
          {"qps", request.qps},
          {"receives", request.receives},
          {"window", request.window},
          {"message", request.message},
          {"echo", request.echo},
          {"sleeps", request.sleeps},
          {"mtu", static_cast<unsigned>(request.mtu)}};
}

std::optional<ServerRequest> ServerRequestFrom(const nlohmann::json& json) {
  const auto qps = NumberAt(json, "qps", kQpsMax);
  const auto receives = NumberAt(json, "receives", kReceivesMax);
  const auto window = NumberAt(json, "window", kBytesMax);
  const auto message = NumberAt(json, "message", kBytesMax);
  const auto type = NumberAt(json, "type", static_cast<unsigned>(QpType::kUd));
  const auto mtu = NumberAt(json, "mtu", static_cast<unsigned>(PathMtu::k4096));
  if (!qps || !receives || !window || !message || !mtu || !type || *qps == 0 || *receives == 0 ||
      *mtu < static_cast<unsigned>(PathMtu::k256)) {
    return std::nullopt;
  }
  return ServerRequest{.type = static_cast<QpType>(*type),
                       .qps = static_cast<uint32_t>(*qps),
                       .receives = static_cast<uint32_t>(*receives),
                       .window = *window,
                       .message = *message,
                       .echo = FlagAt(json, "echo"),
                       .sleeps = FlagAt(json, "sleeps"),
                       .mtu = static_cast<PathMtu>(*mtu)};
}

}  // namespace verbena::cli
