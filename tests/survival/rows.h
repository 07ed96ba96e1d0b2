#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/survival/world.h"

namespace verbena::survival {

// A call that a program can make: its setup, the call, and the destruction of what it made. The
// test repeats the call after a failure.
struct Row {
  std::string name;  // of the export, or "ops." and the verb that calls it
  std::function<void(World&)> set_up;
  std::function<Outcome(World&)> call;
  std::function<void(World&)> tear_down = [](World&) {};  // after a call that succeeded
  // Each attempt uses up a number that is not reused soon, so the table of numbers grows.
  bool takes_number = false;
  // The call uses the device that librdmacm keeps open, whose tables grow.
  bool uses_kept_device = false;
};

[[nodiscard]] std::vector<Row> ExportRows();
[[nodiscard]] std::vector<Row> OperationRows();
[[nodiscard]] std::vector<Row> CmRows();

}  // namespace verbena::survival
