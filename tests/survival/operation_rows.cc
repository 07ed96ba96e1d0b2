// A row for each verb that calls through the operations of a context and can fail.

#include <fcntl.h>

#include "tests/survival/rows.h"

namespace verbena::survival {
namespace {

constexpr auto kNothing = [](World&) {};

void AddDomains(std::vector<Row>& rows) {
  rows.push_back({"ops.ibv_open_device of a device that is open", kNothing,
                  [](World& w) {
                    w.made = ibv_open_device(w.device);
                    return ByNull(w.made);
                  },
                  [](World& w) { EXPECT_EQ(ibv_close_device(w.Made<ibv_context>()), 0); }});
  rows.push_back({"ops.ibv_alloc_td", kNothing,
                  [](World& w) {
                    ibv_td_init_attr attributes{};
                    w.made = ibv_alloc_td(w.context, &attributes);
                    return ByNull(w.made);
                  },
                  [](World& w) { EXPECT_EQ(ibv_dealloc_td(w.Made<ibv_td>()), 0); }});
  rows.push_back({"ops.ibv_alloc_parent_domain", [](World& w) { w.Pd(); },
                  [](World& w) {
                    ibv_parent_domain_init_attr attributes{};
                    attributes.pd = w.Pd();
                    w.made = ibv_alloc_parent_domain(w.context, &attributes);
                    return ByNull(w.made);
                  },
                  [](World& w) { EXPECT_EQ(ibv_dealloc_pd(w.Made<ibv_pd>()), 0); }});
  const auto open = [](World& w, int fd) {
    ibv_xrcd_init_attr attributes{IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, fd, O_CREAT};
    w.made = ibv_open_xrcd(w.context, &attributes);
    return ByNull(w.made);
  };
  const auto close = [](World& w) { EXPECT_EQ(ibv_close_xrcd(w.Made<ibv_xrcd>()), 0); };
  rows.push_back({"ops.ibv_open_xrcd", kNothing, [open](World& w) { return open(w, -1); }, close});
  rows.push_back({"ops.ibv_open_xrcd of a file", kNothing,
                  [open](World& w) { return open(w, w.context->cmd_fd); }, close});
  rows.push_back({"ops.ibv_close_xrcd", [open](World& w) { EXPECT_TRUE(open(w, -1).ok()); },
                  [](World& w) { return ByNumber(ibv_close_xrcd(w.Made<ibv_xrcd>())); }});
}

void AddMemory(std::vector<Row>& rows) {
  const auto dereg = [](World& w) { EXPECT_EQ(ibv_dereg_mr(w.Made<ibv_mr>()), 0); };
  rows.push_back({"ops.ibv_alloc_null_mr", [](World& w) { w.Pd(); },
                  [](World& w) {
                    w.made = ibv_alloc_null_mr(w.Pd());
                    return ByNull(w.made);
                  },
                  dereg});
  rows.push_back({"ops.ibv_alloc_mw", [](World& w) { w.Pd(); },
                  [](World& w) {
                    w.made = ibv_alloc_mw(w.Pd(), IBV_MW_TYPE_2);
                    return ByNull(w.made);
                  },
                  [](World& w) { EXPECT_EQ(ibv_dealloc_mw(w.Made<ibv_mw>()), 0); }});
  rows.push_back({"ops.ibv_dealloc_mw",
                  [](World& w) { w.made = ibv_alloc_mw(w.Pd(), IBV_MW_TYPE_1); },
                  [](World& w) { return ByNumber(ibv_dealloc_mw(w.Made<ibv_mw>())); }});
  rows.push_back({"ops.ibv_alloc_dm", kNothing,
                  [](World& w) {
                    // Most of the device memory: if a failure leaked some, the next allocation
                    // would not fit.
                    ibv_alloc_dm_attr attributes{
                        .length = 1 << 20, .log_align_req = 3, .comp_mask = 0};
                    w.made = ibv_alloc_dm(w.context, &attributes);
                    return ByNull(w.made);
                  },
                  [](World& w) { EXPECT_EQ(ibv_free_dm(w.Made<ibv_dm>()), 0); }});
  rows.push_back({"ops.ibv_reg_dm_mr",
                  [](World& w) {
                    ibv_alloc_dm_attr attributes{.length = 64, .log_align_req = 0, .comp_mask = 0};
                    ibv_dm* const dm = ibv_alloc_dm(w.context, &attributes);
                    w.AtEnd([dm] { return ibv_free_dm(dm); });
                    w.Pd();
                    w.qp = reinterpret_cast<ibv_qp*>(dm);
                  },
                  [](World& w) {
                    w.made = ibv_reg_dm_mr(w.Pd(), reinterpret_cast<ibv_dm*>(w.qp), 0, 64,
                                           IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
                    return ByNull(w.made);
                  },
                  dereg});
  for (const bool waits : {false, true}) {
    rows.push_back(
        {std::string("ops.ibv_advise_mr") + (waits ? " that waits" : ""), [](World& w) { w.Mr(); },
         [waits](World& w) {
           ibv_sge sge{reinterpret_cast<uint64_t>(w.bytes), sizeof w.bytes, w.Mr()->lkey};
           // EINVAL: the pages could not be paged in, because allocating the request failed.
           const int error = ibv_advise_mr(w.Pd(), IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
                                           waits ? IBV_ADVISE_MR_FLAG_FLUSH : 0, &sge, 1);
           return ByNumber(error == EINVAL ? ENOMEM : error);
         }});
  }
}

void AddQueues(std::vector<Row>& rows) {
  rows.push_back(
      {"ops.ibv_create_cq_ex", [](World& w) { w.Channel(); },
       [](World& w) {
         ibv_cq_init_attr_ex attributes{};
         attributes.cqe = 10;
         attributes.channel = w.Channel();
         w.made = ibv_create_cq_ex(w.context, &attributes);
         return ByNull(w.made);
       },
       [](World& w) { EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(w.Made<ibv_cq_ex>())), 0); }});
  rows.push_back({"ops.ibv_modify_cq", [](World& w) { w.Cq(); },
                  [](World& w) {
                    ibv_modify_cq_attr attributes{IBV_CQ_ATTR_MODERATE, {10, 10}};
                    return ByNumber(ibv_modify_cq(w.Cq(), &attributes));
                  }});
  rows.push_back({"ops.ibv_create_qp_ex", [](World& w) { w.QpWishEx(IBV_QPT_RC); },
                  [](World& w) {
                    ibv_qp_init_attr_ex wish = w.QpWishEx(IBV_QPT_RC);
                    wish.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
                    wish.send_ops_flags = IBV_QP_EX_WITH_SEND;
                    w.made = ibv_create_qp_ex(w.context, &wish);
                    return ByNull(w.made);
                  },
                  [](World& w) { EXPECT_EQ(ibv_destroy_qp(w.Made<ibv_qp>()), 0); }, true});
  const auto xrc_receiver = [](World& w) {
    ibv_qp_init_attr_ex wish{};
    wish.qp_type = IBV_QPT_XRC_RECV;
    wish.comp_mask = IBV_QP_INIT_ATTR_XRCD;
    wish.xrcd = w.Xrcd();
    return ibv_create_qp_ex(w.context, &wish);
  };
  rows.push_back({"ops.ibv_create_qp_ex of XRC", [](World& w) { w.Xrcd(); },
                  [xrc_receiver](World& w) {
                    w.made = xrc_receiver(w);
                    return ByNull(w.made);
                  },
                  [](World& w) { EXPECT_EQ(ibv_destroy_qp(w.Made<ibv_qp>()), 0); }, true});
  rows.push_back({"ops.ibv_open_qp",
                  [xrc_receiver](World& w) {
                    w.Xrcd();
                    w.qp = xrc_receiver(w);
                    w.AtEnd([qp = w.qp] { return ibv_destroy_qp(qp); });
                  },
                  [](World& w) {
                    ibv_qp_open_attr attributes{};
                    attributes.comp_mask =
                        IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
                    attributes.qp_num = w.qp->qp_num;
                    attributes.xrcd = w.Xrcd();
                    attributes.qp_type = IBV_QPT_XRC_RECV;
                    w.made = ibv_open_qp(w.context, &attributes);
                    return ByNull(w.made);
                  },
                  [](World& w) { EXPECT_EQ(ibv_destroy_qp(w.Made<ibv_qp>()), 0); }});
}

ibv_srq* MakeSrq(World& w, ibv_srq_type type) {
  ibv_srq_init_attr_ex wish{};
  wish.attr = {16, 2, 0};
  wish.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ;
  wish.srq_type = type;
  wish.pd = w.Pd();
  wish.cq = w.Cq();
  if (type == IBV_SRQT_XRC) {
    wish.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD;
    wish.xrcd = w.Xrcd();
  }
  if (type == IBV_SRQT_TM) {
    wish.comp_mask |= IBV_SRQ_INIT_ATTR_TM;
    wish.tm_cap.max_num_tags = 8;
  }
  return ibv_create_srq_ex(w.context, &wish);
}

void AddSharedQueues(std::vector<Row>& rows) {
  for (const ibv_srq_type type : {IBV_SRQT_BASIC, IBV_SRQT_XRC, IBV_SRQT_TM}) {
    rows.push_back({"ops.ibv_create_srq_ex of type " + std::to_string(type),
                    [](World& w) {
                      w.Pd();
                      w.Cq();
                      w.Xrcd();
                    },
                    [type](World& w) {
                      w.made = MakeSrq(w, type);
                      return ByNull(w.made);
                    },
                    [](World& w) { EXPECT_EQ(ibv_destroy_srq(w.Made<ibv_srq>()), 0); }});
  }
  rows.push_back({"ops.ibv_post_srq_ops",
                  [](World& w) {
                    ibv_srq* const srq = MakeSrq(w, IBV_SRQT_TM);
                    w.AtEnd([srq] { return ibv_destroy_srq(srq); });
                    w.made = srq;
                    w.Mr();
                  },
                  [](World& w) {
                    ibv_sge sge{reinterpret_cast<uint64_t>(w.bytes), 64, w.Mr()->lkey};
                    ibv_ops_wr wr{};
                    wr.opcode = IBV_WR_TAG_ADD;
                    wr.tm.add.sg_list = &sge;
                    wr.tm.add.num_sge = 1;
                    ibv_ops_wr* refused = nullptr;
                    return ByNumber(ibv_post_srq_ops(w.Made<ibv_srq>(), &wr, &refused));
                  }});
}

// Building a work request with ibv_wr_* calls allocates; ibv_wr_complete reports a failure.
void AddWorkBuilder(std::vector<Row>& rows) {
  rows.push_back({"ops.ibv_wr_complete",
                  [](World& w) {
                    ibv_qp_init_attr_ex wish = w.QpWishEx(IBV_QPT_RC);
                    wish.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
                    wish.send_ops_flags = IBV_QP_EX_WITH_SEND;
                    w.qp = ibv_create_qp_ex(w.context, &wish);
                    w.AtEnd([qp = w.qp] { return ibv_destroy_qp(qp); });
                    w.Connect(w.qp, w.qp->qp_num);
                    w.Mr();
                  },
                  [](World& w) {
                    ibv_qp_ex* const qp = ibv_qp_to_qp_ex(w.qp);
                    ibv_wr_start(qp);
                    for (int i = 0; i < 4; ++i) {
                      ibv_wr_send(qp);
                      ibv_wr_set_sge(qp, w.Mr()->lkey, reinterpret_cast<uint64_t>(w.bytes), 8);
                      ibv_wr_send(qp);
                      ibv_wr_set_inline_data(qp, w.bytes, 16);
                    }
                    return ByNumber(ibv_wr_complete(qp));
                  }});
}

}  // namespace

std::vector<Row> OperationRows() {
  std::vector<Row> rows;
  AddDomains(rows);
  AddMemory(rows);
  AddQueues(rows);
  AddSharedQueues(rows);
  AddWorkBuilder(rows);
  return rows;
}

}  // namespace verbena::survival
