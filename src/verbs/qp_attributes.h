#pragma once

#include "adapter/control/adapter.h"
#include "verbena/qp_attributes.h"

namespace verbena::verbs {

// The given attributes, as values and a mask.
[[nodiscard]] adapter::QpChange ChangeOf(const QpAttributes& attributes);
[[nodiscard]] QpReport ReportOf(const adapter::QpStatus& status);

}  // namespace verbena::verbs
