#pragma once

#include <string>
#include <vector>

namespace verbena::cli {

// A feature that this machine has or lacks, with its consequences in words.
struct KernelFeature {
  std::string name;
  bool is_found = false;
  std::string meaning;
};

// Tries each feature as the adapter would.
[[nodiscard]] std::vector<KernelFeature> ProbeKernel();

}  // namespace verbena::cli
