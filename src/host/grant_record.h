#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "host/arbiter_options.h"

namespace verbena::host {

// What a broker has granted, in a file beside its socket: a broker that is started after one that
// was killed finds there what its guests still hold.
//
// One line for each guest: the process, when it started, bytes committed, minimum, maximum, weight
// and name.
struct RecordedGrant {
  pid_t pid = 0;
  uint64_t started = 0;  // so that another process with the same id is not taken for it
  uint64_t bytes = 0;
  GuestLimits limits;
  std::string name;

  friend bool operator==(const RecordedGrant&, const RecordedGrant&) = default;
};

[[nodiscard]] std::string ToText(const std::vector<RecordedGrant>& grants);
// Lines that are not as above are left out.
[[nodiscard]] std::vector<RecordedGrant> ParseGrants(std::string_view text);

// In one step: a broker that is killed meanwhile leaves the old file or the new one.
[[nodiscard]] ErrorOr<void> WriteRecord(const std::string& path,
                                        const std::vector<RecordedGrant>& grants);
// Empty if there is none.
[[nodiscard]] std::vector<RecordedGrant> ReadRecord(const std::string& path);

// When a process started, in ticks since the system did; nullopt if there is none.
[[nodiscard]] std::optional<uint64_t> StartOf(pid_t pid);

}  // namespace verbena::host
