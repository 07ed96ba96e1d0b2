#pragma once

#include <optional>
#include <string>

#include "host/ids.h"
#include "host/operator_client.h"

namespace verbena::cli {

// What verbena broker status prints.
[[nodiscard]] std::string ToTable(const host::BrokerStatus& status);
[[nodiscard]] std::string ToJsonText(const host::BrokerStatus& status);

// "0x1234" or "4660".
[[nodiscard]] std::optional<host::RegionNumber> ParseRegion(const std::string& text);
// "1M:256K": offset and length, the length not 0.
[[nodiscard]] std::optional<host::RegionPart> ParsePart(const std::string& text);

}  // namespace verbena::cli
