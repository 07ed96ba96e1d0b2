#pragma once

#include "adapter/control/adapter.h"
#include "verbena/qp_attributes.h"

namespace verbena::verbs {

// The attributes that are given, as values and a mask.
[[nodiscard]] adapter::QpChange ChangeOf(const QpAttributes& attributes);
[[nodiscard]] QpReport ReportOf(const adapter::QpStatus& status);

}  // namespace verbena::verbs
