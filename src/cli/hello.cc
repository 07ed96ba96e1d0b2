#include "cli/hello.h"

#include <limits>
#include <string>

#include <nlohmann/json.hpp>

#include "cli/json.h"

namespace verbena::cli {
namespace {

constexpr uint64_t kNumber24Max = 0xFF'FFFF;
constexpr uint64_t kNumber32Max = std::numeric_limits<uint32_t>::max();

std::optional<QpAddress> QpAddressFrom(const nlohmann::json& json) {
  const auto qp = NumberAt(json, "qp", kNumber24Max);
  const auto psn = NumberAt(json, "psn", kNumber24Max);
  const auto gid = ParseGid(TextAt(json, "gid"));
  if (!qp || !psn || !gid) return std::nullopt;
  return QpAddress{.qp = QpNumber{static_cast<uint32_t>(*qp)},
                   .gid = *gid,
                   .psn = Psn{static_cast<uint32_t>(*psn)}};
}

}  // namespace

nlohmann::json ToJson(const Hello& hello) {
  auto qps = nlohmann::json::array();
  for (const QpAddress& address : hello.qps) {
    qps.push_back(
        {{"qp", address.qp.value()}, {"gid", ToString(address.gid)}, {"psn", address.psn.value()}});
  }
  return {{"qps", qps},
          {"address", hello.memory.address},
          {"key", hello.memory.key.value()},
          {"bytes", hello.bytes}};
}

std::optional<Hello> HelloFrom(const nlohmann::json& json) {
  const auto address = NumberAt(json, "address");
  const auto key = NumberAt(json, "key", kNumber32Max);
  const auto bytes = NumberAt(json, "bytes");
  if (!address || !key || !bytes || !json.contains("qps") || !json["qps"].is_array()) {
    return std::nullopt;
  }
  Hello hello{.memory = {*address, Key{static_cast<uint32_t>(*key)}}, .bytes = *bytes};
  for (const nlohmann::json& one : json["qps"]) {
    const auto qp = QpAddressFrom(one);
    if (!qp) return std::nullopt;
    hello.qps.push_back(*qp);
  }
  return hello;
}

}  // namespace verbena::cli
