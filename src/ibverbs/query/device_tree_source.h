#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace verbena::ibverbs {

// The present text of a file about the device; nullopt for other paths. Counters are those of this
// process, because the device is part of it.
[[nodiscard]] std::optional<std::string> ReadDeviceFile(std::string_view path);

// Makes open() and the like in this process use ReadDeviceFile, if `verbena run` has interposed
// them.
void OfferDeviceFiles();

}  // namespace verbena::ibverbs
