#pragma once

#include "adapter/control/adapter.h"
#include "verbena/error.h"
#include "verbena/qp_attributes.h"

namespace verbena::verbs {

[[nodiscard]] ErrorOr<adapter::QpChange> ToAdapter(const QpAttributes& attributes);
[[nodiscard]] QpReport FromAdapter(const adapter::QpReport& report);

}  // namespace verbena::verbs
