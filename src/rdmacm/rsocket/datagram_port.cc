#include "rdmacm/rsocket/datagram_port.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/byte_reader.h"
#include "base/check.h"

namespace verbena::rsockets {
namespace {

constexpr std::size_t kGrhSize = sizeof(ibv_grh);
// Slots are aligned to cache lines.
constexpr std::size_t kReceiveStride = (kGrhSize + kDatagramSlot + 63) / 64 * 64;

}  // namespace

DatagramPort::DatagramPort(OwnedCmId id, const SocketName& local, const Sizes& sizes)
    : id_(std::move(id)), local_(local), sizes_(sizes) {
  for (uint32_t slot = 0; slot < sizes.send_slots; ++slot) free_sends_.push_back(slot);
}

ErrnoOr<std::unique_ptr<DatagramPort>> DatagramPort::Make(const CmEventChannel& channel,
                                                          const SocketName& local,
                                                          const Sizes& sizes) {
  auto id = channel.MakeId(RDMA_PS_UDP);
  if (!id) return Fail(id.error());
  // The UDP socket has the port; the id may have any, because peers use the queue pair number.
  SocketName bound = local;
  bound.set_port(0);
  if (rdma_bind_addr(id->get(), bound.get()) != 0) return Fail(LastErrno());
  if ((*id)->verbs == nullptr) return Fail(Errno{ENODEV});
  std::unique_ptr<DatagramPort> port(new DatagramPort(std::move(*id), local, sizes));
  if (const auto made = port->MakeQp(); !made) return Fail(made.error());
  if (const auto made = port->MakeMemory(); !made) return Fail(made.error());
  for (uint32_t slot = 0; slot < sizes.receive_slots; ++slot) {
    if (const auto posted = port->PostReceive(slot); !posted) return Fail(posted.error());
  }
  return port;
}

DatagramPort::~DatagramPort() {
  if (id_->qp != nullptr) rdma_destroy_qp(id_.get());
}

ErrnoOr<void> DatagramPort::MakeQp() {
  if (const int error = ibv_query_port(id_->verbs, id_->port_num, &port_); error != 0) {
    return Fail(Errno{error});
  }
  message_max_ = std::min<std::size_t>(kDatagramSlot, 128U << port_.active_mtu);
  auto cq = NotifiedCq::Make(id_->verbs, sizes_.send_slots + sizes_.receive_slots);
  if (!cq) return Fail(cq.error());
  cq_ = std::move(*cq);
  ibv_qp_init_attr init{};
  init.send_cq = cq_->get();
  init.recv_cq = cq_->get();
  init.qp_type = IBV_QPT_UD;
  init.sq_sig_all = 1;
  init.cap = {.max_send_wr = sizes_.send_slots,
              .max_recv_wr = sizes_.receive_slots,
              .max_send_sge = 1,
              .max_recv_sge = 1,
              .max_inline_data = sizes_.inline_max};
  if (rdma_create_qp(id_.get(), nullptr, &init) != 0) return Fail(LastErrno());
  sizes_.inline_max =
      static_cast<uint16_t>(std::min<uint32_t>(init.cap.max_inline_data, kInlineMax));
  return {};
}

ErrnoOr<void> DatagramPort::MakeMemory() {
  auto send = RegisteredMemory::Make(id_->pd, std::size_t{sizes_.send_slots} * kDatagramSlot,
                                     IBV_ACCESS_LOCAL_WRITE);
  if (!send) return Fail(send.error());
  send_memory_ = std::move(*send);
  auto receive = RegisteredMemory::Make(id_->pd, sizes_.receive_slots * kReceiveStride,
                                        IBV_ACCESS_LOCAL_WRITE);
  if (!receive) return Fail(receive.error());
  receive_memory_ = std::move(*receive);
  return {};
}

// RoCE has one entry per version for an address; only version 2 is routable.
ErrnoOr<uint8_t> DatagramPort::GidIndex(const ibv_gid& gid) const {
  std::optional<uint8_t> found;
  const int count = std::min<int>(port_.gid_tbl_len, 256);
  for (int i = 0; i < count; ++i) {
    ibv_gid_entry entry{};
    if (ibv_query_gid_ex(id_->verbs, id_->port_num, static_cast<uint32_t>(i), &entry, 0) != 0 ||
        std::memcmp(&entry.gid, &gid, sizeof gid) != 0) {
      continue;
    }
    if (entry.gid_type == IBV_GID_TYPE_ROCE_V2) return static_cast<uint8_t>(i);
    if (!found) found = static_cast<uint8_t>(i);
  }
  if (!found) return Fail(Errno{EADDRNOTAVAIL});
  return *found;
}

ErrnoOr<OwnedAh> DatagramPort::MakeAh(const ibv_sa_path_rec& path) const {
  ibv_ah_attr attributes{};
  if (port_.link_layer == IBV_LINK_LAYER_ETHERNET || path.hop_limit > 1) {
    const auto index = GidIndex(path.sgid);
    if (!index) return Fail(index.error());
    attributes.is_global = 1;
    attributes.grh = {.dgid = path.dgid,
                      .flow_label = BigEndian(uint32_t{path.flow_label}),
                      .sgid_index = *index,
                      .hop_limit = path.hop_limit,
                      .traffic_class = path.traffic_class};
  }
  const auto path_bits = static_cast<uint16_t>((1 << port_.lmc) - 1);
  attributes.dlid = BigEndian(uint16_t{path.dlid});
  attributes.sl = path.sl;
  attributes.src_path_bits = static_cast<uint8_t>(BigEndian(uint16_t{path.slid}) & path_bits);
  attributes.static_rate = path.rate;
  attributes.port_num = id_->port_num;
  ibv_ah* const ah = ibv_create_ah(id_->pd, &attributes);
  if (ah == nullptr) return Fail(LastErrno());
  return OwnedAh(ah);
}

std::span<std::byte> DatagramPort::next_message() const {
  CHECK(can_send());
  return send_memory_.bytes().subspan(free_sends_.back() * std::size_t{kDatagramSlot},
                                      kDatagramSlot);
}

ErrnoOr<void> DatagramPort::Send(std::size_t length, ibv_ah* ah, uint32_t qpn) {
  CHECK(length <= message_max_);
  const uint32_t slot = free_sends_.back();
  ibv_sge sge{.addr = reinterpret_cast<uint64_t>(next_message().data()),
              .length = static_cast<uint32_t>(length),
              .lkey = send_memory_.lkey()};
  ibv_send_wr wr{};
  wr.wr_id = WorkId{.kind = WorkId::Kind::kSend, .value = slot}.Pack();
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = length <= sizes_.inline_max ? IBV_SEND_INLINE : 0;
  wr.wr.ud = {.ah = ah, .remote_qpn = qpn, .remote_qkey = RDMA_UDP_QKEY};
  ibv_send_wr* bad = nullptr;
  if (const int error = ibv_post_send(id_->qp, &wr, &bad); error != 0) return Fail(Errno{error});
  free_sends_.pop_back();
  return {};
}

std::optional<DatagramPort::Arrival> DatagramPort::OnCompletion(const ibv_wc& completion) {
  const WorkId id = WorkId::Unpack(completion.wr_id);
  if (id.kind == WorkId::Kind::kSend) {
    free_sends_.push_back(id.value);
    return std::nullopt;
  }
  if (completion.status != IBV_WC_SUCCESS) return std::nullopt;
  const std::size_t length = completion.byte_len < kGrhSize ? 0 : completion.byte_len - kGrhSize;
  return Arrival{
      .slot = id.value,
      .bytes = receive_memory_.bytes().subspan(id.value * kReceiveStride + kGrhSize, length)};
}

ErrnoOr<void> DatagramPort::PostReceive(uint32_t slot) {
  ibv_sge sge{.addr = receive_memory_.address() + slot * kReceiveStride,
              .length = kGrhSize + kDatagramSlot,
              .lkey = receive_memory_.lkey()};
  ibv_recv_wr wr{};
  wr.wr_id = WorkId{.kind = WorkId::Kind::kReceive, .value = slot}.Pack();
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  if (const int error = ibv_post_recv(id_->qp, &wr, &bad); error != 0) return Fail(Errno{error});
  return {};
}

}  // namespace verbena::rsockets
