#pragma once

#include <infiniband/verbs.h>

#include "verbena/context.h"

namespace verbena::ibverbs {

// For librdmacm.so.1, which uses this library, too.

// The handle of a device that ibv_open_device has opened.
[[nodiscard]] const verbena::Context& HandleOf(ibv_context* context);

// The extended form of the attributes, with the domain.
[[nodiscard]] inline ibv_qp_init_attr_ex Extended(const ibv_qp_init_attr& attributes, ibv_pd* pd) {
  ibv_qp_init_attr_ex extended{};
  extended.qp_context = attributes.qp_context;
  extended.send_cq = attributes.send_cq;
  extended.recv_cq = attributes.recv_cq;
  extended.srq = attributes.srq;
  extended.cap = attributes.cap;
  extended.qp_type = attributes.qp_type;
  extended.sq_sig_all = attributes.sq_sig_all;
  extended.comp_mask = IBV_QP_INIT_ATTR_PD;
  extended.pd = pd;
  return extended;
}

}  // namespace verbena::ibverbs
