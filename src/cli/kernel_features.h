#pragma once

#include <string>
#include <vector>

namespace verbena::cli {

// Something that this machine has or has not, and what follows, in words.
struct KernelFeature {
  std::string name;
  bool is_found = false;
  std::string meaning;
};

// Found out by trying, as the adapter would.
[[nodiscard]] std::vector<KernelFeature> ProbeKernel();

}  // namespace verbena::cli
