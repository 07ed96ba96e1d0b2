#pragma once

#include "adapter/control/adapter.h"
#include "verbena/error.h"
#include "verbena/qp_attributes.h"

namespace verbena::verbs {

// As the adapter has them. REFUSES sequence numbers of more than 24 bits, which it would cut.
[[nodiscard]] ErrorOr<adapter::QpChange> ToAdapter(const QpAttributes& attributes);
[[nodiscard]] QpReport FromAdapter(const adapter::QpReport& report);

}  // namespace verbena::verbs
