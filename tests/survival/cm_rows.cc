// Calls of librdmacm that make something. Those that only send are left out: both ends of a
// connection are in this process, so that a failure could hit the receiver, which waits for a
// retransmission then.

#include <rdma/rdma_cma.h>

#include <vector>

#include "tests/survival/rows.h"

namespace verbena::survival {
namespace {

using testing::AsSockaddr;
using testing::CmEnd;
using testing::LoopbackAddress;

void EndId(World& w) { w.Cm().End(w.Made<rdma_cm_id>()); }
void MakeId(World& w) { w.made = w.Cm().MakeId(); }
void MakeBoundId(World& w) {
  MakeId(w);
  sockaddr_storage address = LoopbackAddress();
  EXPECT_EQ(rdma_bind_addr(w.Made<rdma_cm_id>(), AsSockaddr(address)), 0);
}
void MakeResolvedId(World& w) { w.made = w.Cm().ResolveTo(LoopbackAddress(AF_INET, 7'471)); }

void AddIds(std::vector<Row>& rows) {
  rows.push_back({"rdma_create_event_channel", [](World&) {},
                  [](World& w) {
                    w.made = rdma_create_event_channel();
                    return ByNull(w.made);
                  },
                  [](World& w) { rdma_destroy_event_channel(w.Made<rdma_event_channel>()); }});
  rows.push_back({"rdma_create_id", [](World& w) { w.Cm(); },
                  [](World& w) {
                    rdma_cm_id* id = nullptr;
                    const Outcome outcome =
                        ByMinusOne(rdma_create_id(w.Cm().channel, &id, nullptr, RDMA_PS_TCP));
                    w.made = id;
                    return outcome;
                  },
                  [](World& w) { EXPECT_EQ(rdma_destroy_id(w.Made<rdma_cm_id>()), 0); }});
  rows.push_back({"rdma_bind_addr", MakeId,
                  [](World& w) {
                    sockaddr_storage address = LoopbackAddress();
                    return ByMinusOne(rdma_bind_addr(w.Made<rdma_cm_id>(), AsSockaddr(address)));
                  },
                  EndId});
  rows.push_back({"rdma_listen", MakeBoundId,
                  [](World& w) { return ByMinusOne(rdma_listen(w.Made<rdma_cm_id>(), 8)); },
                  EndId});
  // It may also fail later, by an event.
  rows.push_back({"rdma_resolve_addr", MakeId,
                  [](World& w) {
                    sockaddr_storage address = LoopbackAddress(AF_INET, 7'471);
                    return ByMinusOne(rdma_resolve_addr(w.Made<rdma_cm_id>(), nullptr,
                                                        AsSockaddr(address), CmEnd::kTimeoutMs));
                  },
                  [](World& w) {
                    EXPECT_LE(w.Cm().Next()->event, RDMA_CM_EVENT_ADDR_ERROR);
                    EndId(w);
                  }});
  rows.push_back({"rdma_resolve_route",
                  [](World& w) {
                    MakeId(w);
                    sockaddr_storage address = LoopbackAddress(AF_INET, 7'471);
                    EXPECT_EQ(rdma_resolve_addr(w.Made<rdma_cm_id>(), nullptr, AsSockaddr(address),
                                                CmEnd::kTimeoutMs),
                              0);
                    w.Cm().Next(RDMA_CM_EVENT_ADDR_RESOLVED);
                  },
                  [](World& w) {
                    return ByMinusOne(rdma_resolve_route(w.Made<rdma_cm_id>(), CmEnd::kTimeoutMs));
                  },
                  [](World& w) {
                    w.Cm().Next(RDMA_CM_EVENT_ROUTE_RESOLVED);
                    EndId(w);
                  }});
}

void AddQueues(std::vector<Row>& rows) {
  rows.push_back({"rdma_create_qp", MakeResolvedId,
                  [](World& w) {
                    ibv_qp_init_attr wish = testing::QpWish();
                    return ByMinusOne(rdma_create_qp(w.Made<rdma_cm_id>(), nullptr, &wish));
                  },
                  EndId, true});
  rows.push_back({"rdma_create_srq", MakeResolvedId,
                  [](World& w) {
                    ibv_srq_init_attr wish{nullptr, {16, 1, 0}};
                    return ByMinusOne(rdma_create_srq(w.Made<rdma_cm_id>(), nullptr, &wish));
                  },
                  EndId});
}

void AddLookUps(std::vector<Row>& rows) {
  rows.push_back({"rdma_get_devices", [](World&) {},
                  [](World& w) {
                    w.made = rdma_get_devices(nullptr);
                    return ByNull(w.made);
                  },
                  [](World& w) { rdma_free_devices(w.Made<ibv_context*>()); }});
  rows.push_back({"rdma_create_ep",
                  [](World& w) {
                    rdma_addrinfo hints{};
                    hints.ai_flags = RAI_PASSIVE;
                    hints.ai_port_space = RDMA_PS_TCP;
                    rdma_addrinfo* found = nullptr;
                    EXPECT_EQ(rdma_getaddrinfo("127.0.0.1", "0", &hints, &found), 0);
                    w.AtEnd([found] {
                      rdma_freeaddrinfo(found);
                      return 0;
                    });
                    w.bytes_of_buffer = found;
                  },
                  [](World& w) {
                    rdma_cm_id* id = nullptr;
                    ibv_qp_init_attr wish = testing::QpWish();
                    const Outcome outcome = ByMinusOne(rdma_create_ep(
                        &id, static_cast<rdma_addrinfo*>(w.bytes_of_buffer), nullptr, &wish));
                    w.made = id;
                    return outcome;
                  },
                  [](World& w) { rdma_destroy_ep(w.Made<rdma_cm_id>()); }});
}

}  // namespace

std::vector<Row> CmRows() {
  std::vector<Row> rows;
  AddIds(rows);
  AddQueues(rows);
  AddLookUps(rows);
  for (Row& row : rows) row.uses_kept_device = true;
  return rows;
}

}  // namespace verbena::survival
