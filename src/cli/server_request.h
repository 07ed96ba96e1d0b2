#pragma once

#include <cstdint>
#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "verbena/gid.h"
#include "verbena/qp_attributes.h"

namespace verbena::cli {

// What a client asks a server to be for it. A value type.
struct ServerRequest {
  QpType type = QpType::kRc;  // this, UC or UD
  uint32_t qps = 1;
  uint32_t receives = 128;   // requests on each queue pair, always renewed
  uint64_t window = 4'096;   // bytes that the client may write, read and change
  uint64_t message = 4'096;  // the longest that it will send
  // Each message comes back. Of a write with immediate data, those bytes come back that stand in
  // the window from the immediate data's value on.
  bool echo = false;
  bool sleeps = false;  // the server does not poll; echo needs one that does
  PathMtu mtu = PathMtu::k1024;

  friend bool operator==(const ServerRequest&, const ServerRequest&) = default;
};

[[nodiscard]] nlohmann::json ToJson(const ServerRequest& request);

// Nothing if it is none, or asks for more than a server gives to any caller.
[[nodiscard]] std::optional<ServerRequest> ServerRequestFrom(const nlohmann::json& json);

}  // namespace verbena::cli
