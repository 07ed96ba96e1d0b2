#pragma once

#include <cstdint>
#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "verbena/gid.h"
#include "verbena/qp_attributes.h"

namespace verbena::cli {

// What a client asks of the server. A value type.
struct ServerRequest {
  QpType type = QpType::kRc;  // RC, UC or UD
  uint32_t qps = 1;
  uint32_t receives = 128;   // receive requests on each queue pair, always reposted
  uint64_t window = 4'096;   // bytes that the client can write, read and change
  uint64_t message = 4'096;  // the longest message that the client sends
  // The server sends each message back. For a write with immediate data it sends back the bytes of
  // the window from offset `immediate data` on.
  bool echo = false;
  bool sleeps = false;  // the server does not poll; echo needs one that polls
  PathMtu mtu = PathMtu::k1024;

  friend bool operator==(const ServerRequest&, const ServerRequest&) = default;
};

[[nodiscard]] nlohmann::json ToJson(const ServerRequest& request);

// nullopt if `json` is not a valid request, or exceeds a limit of the server.
[[nodiscard]] std::optional<ServerRequest> ServerRequestFrom(const nlohmann::json& json);

}  // namespace verbena::cli
