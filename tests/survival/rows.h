#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/survival/world.h"

namespace verbena::survival {

// A call that a program can make: what it needs, the call, and what ends what it has made. The call
// is made again after it failed.
struct Row {
  std::string name;  // of the export, or "ops." and that of the verb that calls it
  std::function<void(World&)> set_up;
  std::function<Outcome(World&)> call;
  std::function<void(World&)> tear_down = [](World&) {};  // after a call that succeeded
  // Each try takes a number that is not given out again soon, and the table of numbers grows.
  bool takes_number = false;
};

[[nodiscard]] std::vector<Row> ExportRows();
[[nodiscard]] std::vector<Row> OperationRows();

}  // namespace verbena::survival
