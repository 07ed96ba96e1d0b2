#include "rdmacm/rsocket/stream_endpoint.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/byte_reader.h"
#include "base/check.h"

namespace verbena::rsockets {
namespace {

constexpr std::size_t kMessageSize = sizeof(uint32_t);
constexpr std::size_t kReceiveBatch = 32;

ErrnoOr<void> Posted(int error) {
  if (error == 0) return {};
  return Fail(Errno{error > 0 ? error : errno});
}

// Limits the sizes to those of the device and of the protocol.
ErrnoOr<StreamSizes> Fitting(ibv_context* context, StreamSizes sizes) {
  ibv_device_attr device{};
  if (const int error = ibv_query_device(context, &device); error != 0) return Fail(Errno{error});
  const int device_max =
      std::min(device.max_qp_wr, device.max_cqe / 2) - static_cast<int>(kControlSlots);
  const auto queue_max = static_cast<uint16_t>(std::clamp<int>(device_max, kQueueMin, kQueueMax));
  sizes.send_queue = std::clamp(sizes.send_queue, kQueueMin, queue_max);
  sizes.receive_queue = std::clamp(sizes.receive_queue, kQueueMin, queue_max);
  return sizes;
}

}  // namespace

ErrnoOr<std::unique_ptr<StreamEndpoint>> StreamEndpoint::Make(rdma_cm_id* id,
                                                              const StreamSizes& wanted) {
  auto sizes = Fitting(id->verbs, wanted);
  if (!sizes) return Fail(sizes.error());
  const bool sends_messages = id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
  if (sends_messages) sizes->inline_max = std::max<uint16_t>(sizes->inline_max, kMessageSize);
  std::unique_ptr<StreamEndpoint> endpoint(new StreamEndpoint(id, *sizes, sends_messages));
  if (const auto made = endpoint->MakeQp(); !made) return Fail(made.error());
  if (const auto made = endpoint->MakeMemory(); !made) return Fail(made.error());
  if (const auto posted = endpoint->PostAllReceives(); !posted) return Fail(posted.error());
  return endpoint;
}

StreamEndpoint::~StreamEndpoint() {
  if (id_->qp != nullptr) rdma_destroy_qp(id_);
}

ErrnoOr<void> StreamEndpoint::MakeQp() {
  const uint32_t sends = sizes_.send_queue, receives = receive_count();
  auto cq = NotifiedCq::Make(id_->verbs, static_cast<int>(sends + receives));
  if (!cq) return Fail(cq.error());
  cq_ = std::move(*cq);
  ibv_qp_init_attr init{};
  init.send_cq = cq_->get();
  init.recv_cq = cq_->get();
  init.qp_type = IBV_QPT_RC;
  init.sq_sig_all = 1;
  init.cap = {.max_send_wr = sends,
              .max_recv_wr = receives,
              .max_send_sge = 2,
              .max_recv_sge = 1,
              .max_inline_data = sizes_.inline_max};
  if (rdma_create_qp(id_, nullptr, &init) != 0) return Fail(LastErrno());
  sizes_.inline_max =
      static_cast<uint16_t>(std::min<uint32_t>(init.cap.max_inline_data, kInlineMax));
  if (sends_messages_ && sizes_.inline_max < kMessageSize) return Fail(Errno{ENOTSUP});
  return {};
}

ErrnoOr<void> StreamEndpoint::MakeMemory() {
  constexpr int kLocal = IBV_ACCESS_LOCAL_WRITE;
  constexpr int kRemote = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  auto send = RegisteredMemory::Make(pd(), sizes_.send_buffer + kControlSlots * RemoteBuffer::kSize,
                                     kLocal);
  if (!send) return Fail(send.error());
  send_memory_ = std::move(*send);
  const std::size_t words = sends_messages_ ? receive_count() * kMessageSize : 0;
  auto receive = RegisteredMemory::Make(pd(), sizes_.receive_buffer + words, kRemote);
  if (!receive) return Fail(receive.error());
  receive_memory_ = std::move(*receive);
  auto target = RegisteredMemory::Make(
      pd(), kTargetEntries * RemoteBuffer::kSize + sizes_.iomap_size * IomapEntry::kSize, kRemote);
  if (!target) return Fail(target.error());
  target_memory_ = std::move(*target);
  return {};
}

std::span<std::byte> StreamEndpoint::control_buffer(unsigned n) const {
  CHECK(n < kControlSlots);
  return send_memory_.bytes().subspan(sizes_.send_buffer + n * RemoteBuffer::kSize,
                                      RemoteBuffer::kSize);
}

ErrnoOr<void> StreamEndpoint::PostAllReceives() {
  std::vector<uint32_t> slots(receive_count());
  std::iota(slots.begin(), slots.end(), 0U);
  return PostReceives(slots);
}

ErrnoOr<void> StreamEndpoint::PostReceives(std::span<const uint32_t> slots) {
  std::array<ibv_recv_wr, kReceiveBatch> requests;
  std::array<ibv_sge, kReceiveBatch> words;
  while (!slots.empty()) {
    const std::size_t count = std::min(slots.size(), kReceiveBatch);
    for (std::size_t i = 0; i < count; ++i) {
      const WorkId id{.kind = WorkId::Kind::kReceive, .value = slots[i]};
      // A message in immediate data uses no memory.
      words[i] = {
          .addr = receive_memory_.address() + sizes_.receive_buffer + slots[i] * kMessageSize,
          .length = kMessageSize,
          .lkey = receive_memory_.lkey()};
      requests[i] = {.wr_id = id.Pack(),
                     .next = i + 1 < count ? &requests[i + 1] : nullptr,
                     .sg_list = &words[i],
                     .num_sge = sends_messages_ ? 1 : 0};
    }
    ibv_recv_wr* bad = nullptr;
    const auto posted = Posted(ibv_post_recv(id_->qp, requests.data(), &bad));
    if (!posted) return posted;
    slots = slots.subspan(count);
  }
  return {};
}

ErrnoOr<void> StreamEndpoint::PostMessage(Message message) {
  const uint32_t word = message.Pack();
  ibv_send_wr wr{};
  wr.wr_id = WorkId{.kind = WorkId::Kind::kControl, .value = word}.Pack();
  ibv_sge sge{.addr = reinterpret_cast<uint64_t>(&word), .length = kMessageSize, .lkey = 0};
  if (sends_messages_) {
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_INLINE;
    wr.sg_list = &sge;
    wr.num_sge = 1;
  } else {
    wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    wr.imm_data = BigEndian(word);
  }
  return PostSend(wr);
}

ErrnoOr<void> StreamEndpoint::PostWrite(const Write& write) {
  ibv_send_wr wr{};
  wr.wr_id = write.id.Pack();
  wr.sg_list = write.from.data();
  wr.num_sge = static_cast<int>(write.from.size());
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = write.is_inline ? IBV_SEND_INLINE : 0;
  wr.wr.rdma = {.remote_addr = write.remote_address, .rkey = write.rkey};
  if (!write.message) return PostSend(wr);
  const uint32_t word = write.message->Pack();
  if (!sends_messages_) {
    wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    wr.imm_data = BigEndian(word);
    return PostSend(wr);
  }
  // The message follows the data, and its completion releases only its own slot.
  ibv_sge sge{.addr = reinterpret_cast<uint64_t>(&word), .length = kMessageSize, .lkey = 0};
  ibv_send_wr message{};
  message.wr_id = WorkId{.kind = write.id.kind,
                         .value = write.id.kind == WorkId::Kind::kSend ? 0 : write.id.value}
                      .Pack();
  message.sg_list = &sge;
  message.num_sge = 1;
  message.opcode = IBV_WR_SEND;
  message.send_flags = IBV_SEND_INLINE;
  wr.next = &message;
  return PostSend(wr);
}

ErrnoOr<void> StreamEndpoint::PostSend(ibv_send_wr& wr) const {
  ibv_send_wr* bad = nullptr;
  return Posted(ibv_post_send(id_->qp, &wr, &bad));
}

Message StreamEndpoint::MessageOf(const ibv_wc& completion) const {
  if ((completion.wc_flags & IBV_WC_WITH_IMM) != 0) {
    return Message::Unpack(BigEndian(uint32_t{completion.imm_data}));
  }
  const uint32_t slot = WorkId::Unpack(completion.wr_id).value;
  uint32_t word = 0;
  const std::size_t offset = sizes_.receive_buffer + slot * kMessageSize;
  std::memcpy(&word, receive_memory_.bytes().subspan(offset, kMessageSize).data(), kMessageSize);
  return Message::Unpack(word);
}

std::optional<RemoteBuffer> StreamEndpoint::TakeTarget(unsigned entry) const {
  CHECK(entry < kTargetEntries);
  const auto bytes =
      target_memory_.bytes().subspan(entry * RemoteBuffer::kSize, RemoteBuffer::kSize);
  // The device writes this memory. The length is the last field; an entry of length 0 is empty.
  const std::atomic_ref length(*reinterpret_cast<uint32_t*>(&bytes[12]));
  if (length.load(std::memory_order_acquire) == 0) return std::nullopt;
  const RemoteBuffer target = RemoteBuffer::Parse(bytes, std::endian::native);
  length.store(0, std::memory_order_relaxed);
  return target;
}

IomapEntry StreamEndpoint::iomap_entry(unsigned n) const {
  CHECK(n < sizes_.iomap_size);
  const std::size_t offset = kTargetEntries * RemoteBuffer::kSize + n * IomapEntry::kSize;
  return IomapEntry::Parse(target_memory_.bytes().subspan(offset, IomapEntry::kSize),
                           std::endian::native);
}

}  // namespace verbena::rsockets
