// Sequences of operations on the memory core, compared with the reference of tests/model.

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "model/run.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace verbena::memory::model;  // NOLINT(google-build-using-namespace): all of it
  ByteChoices choices({data, size});
  const Report report = Run(choices, UINT64_MAX);
  if (report.agrees) return 0;
  std::fprintf(stderr, "step %llu: %s\n", static_cast<unsigned long long>(report.steps),
               report.difference.c_str());
  ByteChoices again({data, size});
  Run(again, UINT64_MAX, 0);
  std::abort();
}
