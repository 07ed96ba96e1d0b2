// Enhanced connection establishment: vendor options of a connection. Verbena has none.

#include <infiniband/verbs.h>

#include "ibverbs/failure.h"

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): the verbs are global

int ibv_query_ece(ibv_qp* /*qp*/, ibv_ece* ece) {
  *ece = {};
  return Unsupported("ibv_query_ece");
}

int ibv_set_ece(ibv_qp* /*qp*/, ibv_ece* /*ece*/) { return Unsupported("ibv_set_ece"); }
