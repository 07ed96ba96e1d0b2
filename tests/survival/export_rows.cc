// A row for each export that can fail. Some names are also macros of the header; parentheses around
// a name call the function itself.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "ibverbs/newer_verbs.h"
#include "tests/survival/rows.h"

extern "C" {
// Exports that the header does not declare.
int ibv_query_gid_type(ibv_context* context, uint8_t port, unsigned int index, unsigned int* type);
int ibv_read_sysfs_file(const char* directory, const char* file, char* out, size_t size);
int verbena_write_device_files(char* out, size_t size);
}

namespace verbena::survival {
namespace {

constexpr auto kNothing = [](World&) {};

void AddObjects(std::vector<Row>& rows) {
  rows.push_back({"ibv_get_device_list", kNothing,
                  [](World& w) {
                    w.made = ibv_get_device_list(nullptr);
                    return ByNull(w.made);
                  },
                  [](World& w) { ibv_free_device_list(w.Made<ibv_device*>()); }});
  // Closes the context of the world first, because a second context would share its adapter.
  rows.push_back({"ibv_open_device",
                  [](World& w) {
                    EXPECT_EQ(w.is_closed ? 0 : ibv_close_device(w.context), 0);
                    w.is_closed = true;
                  },
                  [](World& w) {
                    w.made = ibv_open_device(w.device);
                    return ByNull(w.made);
                  },
                  [](World& w) { EXPECT_EQ(ibv_close_device(w.Made<ibv_context>()), 0); }});
  rows.push_back({"ibv_close_device", kNothing, [](World& w) {
                    const int result = ibv_close_device(w.context);
                    w.is_closed = result == 0;
                    return ByNumber(result);
                  }});
  rows.push_back({"ibv_alloc_pd", kNothing,
                  [](World& w) {
                    w.made = ibv_alloc_pd(w.context);
                    return ByNull(w.made);
                  },
                  [](World& w) { EXPECT_EQ(ibv_dealloc_pd(w.Made<ibv_pd>()), 0); }});
  rows.push_back({"ibv_dealloc_pd", [](World& w) { w.made = ibv_alloc_pd(w.context); },
                  [](World& w) { return ByNumber(ibv_dealloc_pd(w.Made<ibv_pd>())); }});
  rows.push_back(
      {"ibv_create_comp_channel", kNothing,
       [](World& w) {
         w.made = ibv_create_comp_channel(w.context);
         return ByNull(w.made);
       },
       [](World& w) { EXPECT_EQ(ibv_destroy_comp_channel(w.Made<ibv_comp_channel>()), 0); }});
  rows.push_back(
      {"ibv_destroy_comp_channel", [](World& w) { w.made = ibv_create_comp_channel(w.context); },
       [](World& w) { return ByNumber(ibv_destroy_comp_channel(w.Made<ibv_comp_channel>())); }});
  rows.push_back({"ibv_create_ah", [](World& w) { w.Pd(); },
                  [](World& w) {
                    ibv_ah_attr way{};
                    way.is_global = 1;
                    way.port_num = 1;
                    way.grh.dgid.raw[10] = way.grh.dgid.raw[11] = 0xFF;
                    way.grh.dgid.raw[12] = 127;
                    w.made = ibv_create_ah(w.Pd(), &way);
                    return ByNull(w.made);
                  },
                  [](World& w) { EXPECT_EQ(ibv_destroy_ah(w.Made<ibv_ah>()), 0); }});
  rows.push_back({"ibv_destroy_ah",
                  [](World& w) {
                    ibv_ah_attr way = w.Loopback();
                    w.made = ibv_create_ah(w.Pd(), &way);
                  },
                  [](World& w) { return ByNumber(ibv_destroy_ah(w.Made<ibv_ah>())); }});
}

// The GRH area of a datagram from 127.0.0.1 to itself.
ibv_grh LoopbackGrh() {
  alignas(ibv_grh) uint8_t bytes[sizeof(ibv_grh)] = {};
  bytes[20] = 0x45;
  bytes[32] = bytes[36] = 127;
  bytes[35] = bytes[39] = 1;
  ibv_grh grh;
  std::memcpy(&grh, bytes, sizeof grh);
  return grh;
}

void AddQueues(std::vector<Row>& rows) {
  rows.push_back({"ibv_create_cq", [](World& w) { w.Channel(); },
                  [](World& w) {
                    w.made = ibv_create_cq(w.context, 1000, nullptr, w.Channel(), 0);
                    return ByNull(w.made);
                  },
                  [](World& w) { EXPECT_EQ(ibv_destroy_cq(w.Made<ibv_cq>()), 0); }});
  rows.push_back({"ibv_destroy_cq",
                  [](World& w) { w.made = ibv_create_cq(w.context, 1, nullptr, w.Channel(), 0); },
                  [](World& w) { return ByNumber(ibv_destroy_cq(w.Made<ibv_cq>())); }});
  rows.push_back({"ibv_resize_cq", [](World& w) { w.Cq(); },
                  [](World& w) { return ByNumber(ibv_resize_cq(w.Cq(), 5000)); }});
  rows.push_back({"ibv_create_qp", [](World& w) { w.QpWishEx(IBV_QPT_RC); },
                  [](World& w) {
                    w.made = ibv_create_qp(w.Pd(), w.With(w.QpWish(IBV_QPT_RC)));
                    return ByNull(w.made);
                  },
                  [](World& w) { EXPECT_EQ(ibv_destroy_qp(w.Made<ibv_qp>()), 0); }, true});
  rows.push_back({"ibv_destroy_qp",
                  [](World& w) {
                    w.qp = ibv_create_qp(w.Pd(), w.With(w.QpWish(IBV_QPT_RC)));
                    w.Connect(w.qp, w.qp->qp_num);
                    ibv_recv_wr wr{};
                    ibv_recv_wr* refused = nullptr;
                    for (int i = 0; i < 16; ++i) EXPECT_EQ(ibv_post_recv(w.qp, &wr, &refused), 0);
                  },
                  [](World& w) { return ByNumber(ibv_destroy_qp(w.qp)); }});
  rows.push_back({"ibv_query_qp",
                  [](World& w) {
                    w.qp = w.Qp();
                    w.Connect(w.qp, w.qp->qp_num);
                  },
                  [](World& w) {
                    ibv_qp_attr attributes{};
                    ibv_qp_init_attr creation{};
                    return ByNumber(ibv_query_qp(w.qp, &attributes, IBV_QP_AV, &creation));
                  }});
  rows.push_back({"ibv_create_srq", [](World& w) { w.Pd(); },
                  [](World& w) {
                    ibv_srq_init_attr attributes{nullptr, {100, 2, 0}};
                    w.made = ibv_create_srq(w.Pd(), &attributes);
                    return ByNull(w.made);
                  },
                  [](World& w) { EXPECT_EQ(ibv_destroy_srq(w.Made<ibv_srq>()), 0); }});
  rows.push_back({"ibv_destroy_srq",
                  [](World& w) {
                    ibv_srq_init_attr attributes{nullptr, {100, 2, 0}};
                    w.made = ibv_create_srq(w.Pd(), &attributes);
                  },
                  [](World& w) { return ByNumber(ibv_destroy_srq(w.Made<ibv_srq>())); }});
  rows.push_back({"ibv_modify_srq", [](World& w) { w.Srq(); },
                  [](World& w) {
                    ibv_srq_attr attributes{1000, 0, 10};
                    return ByNumber(
                        ibv_modify_srq(w.Srq(), &attributes, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT));
                  }});
}

// All state transitions, because each allocates other objects.
void AddModify(std::vector<Row>& rows) {
  rows.push_back({"ibv_modify_qp", [](World& w) { w.qp = w.Qp(); },
                  [](World& w) {
                    if (w.qp->state == IBV_QPS_RESET) {
                      if (const int error = w.ToInit(w.qp)) return ByNumber(error);
                    }
                    if (w.qp->state == IBV_QPS_INIT) {
                      ibv_qp_attr attributes{};
                      attributes.qp_state = IBV_QPS_RTR;
                      attributes.path_mtu = IBV_MTU_1024;
                      attributes.dest_qp_num = w.qp->qp_num;
                      attributes.max_dest_rd_atomic = 16;
                      attributes.ah_attr.is_global = 1;
                      attributes.ah_attr.port_num = 1;
                      ibv_gid& to = attributes.ah_attr.grh.dgid;
                      to.raw[10] = to.raw[11] = 0xFF;
                      to.raw[12] = 127;
                      to.raw[15] = 1;
                      if (const int error =
                              ibv_modify_qp(w.qp, &attributes,
                                            IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                                                IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                                IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)) {
                        return ByNumber(error);
                      }
                    }
                    if (w.qp->state == IBV_QPS_RTR) {
                      if (const int error = World::ToRts(w.qp)) return ByNumber(error);
                    }
                    ibv_qp_attr reset{};
                    reset.qp_state = IBV_QPS_RESET;
                    return ByNumber(ibv_modify_qp(w.qp, &reset, IBV_QP_STATE));
                  }});
  const auto group = [] {
    ibv_gid gid{};
    gid.raw[10] = gid.raw[11] = 0xFF;
    gid.raw[12] = 239;
    gid.raw[15] = 7;
    return gid;
  };
  const auto datagrams = [](World& w) {
    w.qp = w.Qp(IBV_QPT_UD);
    EXPECT_EQ(w.ToInit(w.qp), 0);
  };
  rows.push_back({"ibv_attach_mcast", datagrams,
                  [group](World& w) {
                    const ibv_gid gid = group();
                    return ByNumber(ibv_attach_mcast(w.qp, &gid, 0));
                  },
                  [group](World& w) {
                    const ibv_gid gid = group();
                    EXPECT_EQ(ibv_detach_mcast(w.qp, &gid, 0), 0);
                  }});
  rows.push_back({"ibv_detach_mcast",
                  [group, datagrams](World& w) {
                    datagrams(w);
                    const ibv_gid gid = group();
                    EXPECT_EQ(ibv_attach_mcast(w.qp, &gid, 0), 0);
                  },
                  [group](World& w) {
                    const ibv_gid gid = group();
                    return ByNumber(ibv_detach_mcast(w.qp, &gid, 0));
                  }});
}

void AddMemory(std::vector<Row>& rows) {
  const auto dereg = [](World& w) { EXPECT_EQ(ibv_dereg_mr(w.Made<ibv_mr>()), 0); };
  const auto needs_pd = [](World& w) { w.Pd(); };
  rows.push_back({"ibv_reg_mr", needs_pd,
                  [](World& w) {
                    w.made = (ibv_reg_mr)(w.Pd(), w.bytes, sizeof w.bytes, World::kAccess);
                    return ByNull(w.made);
                  },
                  dereg});
  rows.push_back({"ibv_reg_mr_iova", needs_pd,
                  [](World& w) {
                    w.made = (ibv_reg_mr_iova)(w.Pd(), w.bytes, 100, 4096, World::kAccess);
                    return ByNull(w.made);
                  },
                  dereg});
  rows.push_back({"ibv_reg_mr_iova2", needs_pd,
                  [](World& w) {
                    w.made = ibv_reg_mr_iova2(w.Pd(), w.bytes, 100, 4096, World::kAccess);
                    return ByNull(w.made);
                  },
                  dereg});
  rows.push_back({"ibv_reg_mr_ex", needs_pd,
                  [](World& w) {
                    ibverbs::MrInitAttributes attributes;
                    attributes.length = sizeof w.bytes;
                    attributes.access = World::kAccess;
                    attributes.comp_mask = static_cast<uint64_t>(ibverbs::MrInitMask::kAddress);
                    attributes.address = w.bytes;
                    w.made = ibverbs::RegisterMrEx(w.Pd(), &attributes);
                    return ByNull(w.made);
                  },
                  dereg});
  const auto buffer = std::make_shared<ibverbs::Buffer*>();
  rows.push_back(
      {"ibv_alloc_buf", needs_pd,
       [buffer](World& w) { return ByNull(ibverbs::AllocateBuffer(w.Pd(), 4096, buffer.get())); },
       [buffer](World& /*w*/) { ibverbs::FreeBuffer(*buffer); }});
  rows.push_back({"ibv_reg_buf_mr",
                  [buffer](World& w) {
                    if (w.bytes_of_buffer != nullptr) return;
                    w.bytes_of_buffer = ibverbs::AllocateBuffer(w.Pd(), 4096, buffer.get());
                    w.AtEnd([buffer] {
                      ibverbs::FreeBuffer(*buffer);
                      return 0;
                    });
                  },
                  [buffer](World& w) {
                    w.made = ibverbs::RegisterBuffer(w.Pd(), *buffer, w.bytes_of_buffer, 4096,
                                                     World::kAccess);
                    return ByNull(w.made);
                  },
                  dereg});
  rows.push_back({"ibv_rereg_mr", [](World& w) { w.Mr(); },
                  [](World& w) {
                    // IBV_REREG_MR_ERR_INPUT says that the old region is valid.
                    return ByMinusOne(ibv_rereg_mr(w.Mr(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr,
                                                   w.bytes + 100, 4096, 0));
                  }});
  rows.push_back({"ibv_dereg_mr",
                  [](World& w) { w.made = (ibv_reg_mr)(w.Pd(), w.bytes, 100, World::kAccess); },
                  [](World& w) { return ByNumber(ibv_dereg_mr(w.Made<ibv_mr>())); }});
  rows.push_back({"ibv_import_device", kNothing,
                  [](World& w) {
                    const int fd = dup(w.context->cmd_fd);
                    w.made = ibv_import_device(fd);
                    if (w.made == nullptr) close(fd);
                    return ByNull(w.made);
                  },
                  [](World& w) { EXPECT_EQ(ibv_close_device(w.Made<ibv_context>()), 0); }});
  rows.push_back({"ibv_import_pd", needs_pd,
                  [](World& w) {
                    w.made = ibv_import_pd(w.context, w.Pd()->handle);
                    return ByNull(w.made);
                  },
                  [](World& w) { ibv_unimport_pd(w.Made<ibv_pd>()); }});
  rows.push_back({"ibv_import_mr", [](World& w) { w.Mr(); },
                  [](World& w) {
                    w.made = ibv_import_mr(w.Pd(), w.Mr()->handle);
                    return ByNull(w.made);
                  },
                  [](World& w) { ibv_unimport_mr(w.Made<ibv_mr>()); }});
}

void AddDeviceMemoryImport(std::vector<Row>& rows) {
  rows.push_back({"ibv_import_dm",
                  [](World& w) {
                    ibv_alloc_dm_attr attributes{.length = 64, .log_align_req = 0, .comp_mask = 0};
                    ibv_dm* const dm = ibv_alloc_dm(w.context, &attributes);
                    w.AtEnd([dm] { return ibv_free_dm(dm); });
                    w.qp = reinterpret_cast<ibv_qp*>(dm);
                  },
                  [](World& w) {
                    const auto* const dm = reinterpret_cast<ibv_dm*>(w.qp);
                    w.made = ibv_import_dm(w.context, dm->handle);
                    return ByNull(w.made);
                  },
                  [](World& w) { ibv_unimport_dm(w.Made<ibv_dm>()); }});
}

void AddQuestions(std::vector<Row>& rows) {
  rows.push_back({"ibv_query_port_speed", kNothing, [](World& w) {
                    uint64_t speed = 0;
                    return ByNumber(ibverbs::QueryPortSpeed(w.context, 1, &speed));
                  }});
  rows.push_back(
      {"ibv_query_port", kNothing, [](World& w) {
         alignas(ibv_port_attr) std::byte out[sizeof(ibv_port_attr)];
         return ByNumber(
             (ibv_query_port)(w.context, 1, reinterpret_cast<_compat_ibv_port_attr*>(out)));
       }});
  rows.push_back({"ibv_query_gid", kNothing, [](World& w) {
                    ibv_gid gid;
                    return ByMinusOne(ibv_query_gid(w.context, 1, 0, &gid));
                  }});
  rows.push_back({"ibv_query_gid_type", kNothing, [](World& w) {
                    unsigned type = 0;
                    return ByMinusOne(ibv_query_gid_type(w.context, 1, 0, &type));
                  }});
  rows.push_back({"_ibv_query_gid_ex", kNothing, [](World& w) {
                    ibv_gid_entry entry;
                    return ByNumber(_ibv_query_gid_ex(w.context, 1, 0, &entry, 0, sizeof entry));
                  }});
  rows.push_back({"_ibv_query_gid_table", kNothing, [](World& w) {
                    ibv_gid_entry entries[64];
                    return ByNegative(
                        _ibv_query_gid_table(w.context, entries, 64, 0, sizeof entries[0]));
                  }});
  rows.push_back({"ibv_get_device_guid", kNothing, [](World& w) {
                    errno = 0;
                    return Outcome{ibv_get_device_guid(w.device) != 0 ? 0 : errno};
                  }});
  rows.push_back({"ibv_read_sysfs_file", kNothing, [](World&) {
                    char text[64];
                    return ByMinusOne(ibv_read_sysfs_file("/proc/sys/kernel/random/..", "ostype",
                                                          text, sizeof text));
                  }});
  rows.push_back({"verbena_write_device_files", kNothing, [](World&) {
                    char folder[512];
                    return ByNumber(verbena_write_device_files(folder, sizeof folder));
                  }});
  rows.push_back({"ibv_init_ah_from_wc", kNothing, [](World& w) {
                    ibv_wc wc{};
                    wc.wc_flags = IBV_WC_GRH;
                    ibv_grh grh = LoopbackGrh();
                    ibv_ah_attr way{};
                    return ByNumber(ibv_init_ah_from_wc(w.context, 1, &wc, &grh, &way));
                  }});
  rows.push_back({"ibv_create_ah_from_wc", [](World& w) { w.Pd(); },
                  [](World& w) {
                    ibv_wc wc{};
                    wc.wc_flags = IBV_WC_GRH;
                    ibv_grh grh = LoopbackGrh();
                    w.made = ibv_create_ah_from_wc(w.Pd(), &wc, &grh, 1);
                    return ByNull(w.made);
                  },
                  [](World& w) { EXPECT_EQ(ibv_destroy_ah(w.Made<ibv_ah>()), 0); }});
}

// The descriptors are nonblocking, so EAGAIN means that there is no event.
void AddEvents(std::vector<Row>& rows) {
  const auto no_wait = [](int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); };
  const auto none = [](int result) {
    return result == -1 && errno == EAGAIN ? Outcome{} : ByMinusOne(result);
  };
  rows.push_back({"ibv_get_cq_event", [no_wait](World& w) { no_wait(w.Channel()->fd); },
                  [none](World& w) {
                    ibv_cq* cq = nullptr;
                    void* context = nullptr;
                    return none(ibv_get_cq_event(w.Channel(), &cq, &context));
                  }});
  rows.push_back({"ibv_get_async_event", [no_wait](World& w) { no_wait(w.context->async_fd); },
                  [none](World& w) {
                    ibv_async_event event;
                    return none(ibv_get_async_event(w.context, &event));
                  }});
}

}  // namespace

std::vector<Row> ExportRows() {
  std::vector<Row> rows;
  AddObjects(rows);
  AddQueues(rows);
  AddModify(rows);
  AddMemory(rows);
  AddDeviceMemoryImport(rows);
  AddQuestions(rows);
  AddEvents(rows);
  return rows;
}

}  // namespace verbena::survival
