// The cost of page faults, and their effect on other connections. Each part prints one JSON value.
// Two devices of this process communicate over the loopback device; see fault_world.h.
// bench/fault_cost.py runs all parts and compares.
//
//   fault_cost minor | message | warm | registration | storm | isolation | stuck

#include <cstdio>
#include <string_view>

#include <nlohmann/json.hpp>

#include "bench/fault_isolation.h"
#include "bench/fault_single.h"
#include "bench/fault_storm.h"
#include "bench/fault_stuck.h"

namespace {

using verbena::bench::MeasureColdMessages;
using verbena::bench::MeasureIsolation;
using verbena::bench::MeasureMinorFaults;
using verbena::bench::MeasureRegistration;
using verbena::bench::MeasureStorms;
using verbena::bench::MeasureStuck;
using verbena::bench::MeasureWarmCost;

struct Part {
  std::string_view name;
  nlohmann::json (*measure)();
};

constexpr Part kParts[] = {{"minor", MeasureMinorFaults}, {"message", MeasureColdMessages},
                           {"warm", MeasureWarmCost},     {"registration", MeasureRegistration},
                           {"storm", MeasureStorms},      {"isolation", MeasureIsolation},
                           {"stuck", MeasureStuck}};

}  // namespace

int main(int argc, char** argv) {
  for (const Part& part : kParts) {
    if (argc != 2 || part.name != argv[1]) continue;
    std::printf("%s\n", part.measure().dump().c_str());
    return 0;
  }
  std::fprintf(stderr, "usage: fault_cost");
  for (const Part& part : kParts) std::fprintf(stderr, " %s", part.name.data());
  std::fprintf(stderr, "\n");
  return 2;
}
