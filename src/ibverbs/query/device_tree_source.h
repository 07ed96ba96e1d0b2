#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace verbena::ibverbs {

// What a file about the device reads as now, in this process; nullopt if the path is none of ours.
// Counters are those of this process, because the device lives in it.
[[nodiscard]] std::optional<std::string> ReadDeviceFile(std::string_view path);

// Lets the path calls of this process have it, if `verbena run` put its own in front of them.
void OfferDeviceFiles();

}  // namespace verbena::ibverbs
