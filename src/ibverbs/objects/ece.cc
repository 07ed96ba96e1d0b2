// Enhanced connection establishment: options of a vendor, of which there are none here.

#include <infiniband/verbs.h>

#include "ibverbs/failure.h"

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): C has no other

int ibv_query_ece(ibv_qp* /*qp*/, ibv_ece* ece) {
  *ece = {};
  return Unsupported("ibv_query_ece");
}

int ibv_set_ece(ibv_qp* /*qp*/, ibv_ece* /*ece*/) { return Unsupported("ibv_set_ece"); }
