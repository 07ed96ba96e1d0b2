#include "rdmacm/rsocket/stream_connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"

namespace verbena::rsockets {
namespace {

constexpr std::size_t kCompletionBatch = 32;

Errno ErrnoOfCompletion(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return {ETIMEDOUT};
    case IBV_WC_WR_FLUSH_ERR:
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_OP_ERR:
      return {ECONNRESET};
    default:
      return {EIO};
  }
}

}  // namespace

ErrnoOr<std::unique_ptr<StreamConnection>> StreamConnection::Make(rdma_cm_id* id,
                                                                  const StreamSizes& sizes) {
  auto endpoint = StreamEndpoint::Make(id, sizes);
  if (!endpoint) return Fail(endpoint.error());
  return std::unique_ptr<StreamConnection>(new StreamConnection(std::move(*endpoint)));
}

StreamConnection::StreamConnection(std::unique_ptr<StreamEndpoint> endpoint)
    : endpoint_(std::move(endpoint)),
      receiver_(endpoint_->sizes().receive_buffer, endpoint_->sizes().receive_queue) {}

ConnectionHeader StreamConnection::header() const {
  const RegisteredMemory& target = endpoint_->target_memory();
  const RegisteredMemory& receive = endpoint_->receive_memory();
  return {
      .credits = endpoint_->sizes().receive_queue,
      .iomap_size = endpoint_->sizes().iomap_size,
      .target_list = {.address = target.address(), .rkey = target.rkey(), .length = kTargetEntries},
      .data_buffer = {
          .address = receive.address(), .rkey = receive.rkey(), .length = receiver_.half()}};
}

void StreamConnection::Start(const ConnectionHeader& peer) {
  const StreamSizes& sizes = endpoint_->sizes();
  peer_ = peer;
  next_peer_target_ = 1 % peer.target_list.length;
  sender_.emplace(StreamSender::Config{.slots = sizes.send_queue - kControlSlots,
                                       .slots_per_data = endpoint_->sends_messages() ? 2U : 1U,
                                       .buffer_size = sizes.send_buffer,
                                       .inline_max = sizes.inline_max},
                  peer.credits, peer.data_buffer);
  iomaps_.emplace(peer.iomap_size);
}

bool StreamConnection::Progress() {
  std::array<ibv_wc, kCompletionBatch> batch;
  bool changed = false;
  for (;;) {
    const auto completions = endpoint_->cq().Poll(batch);
    if (completions.empty()) break;
    changed = true;
    std::array<uint32_t, kCompletionBatch> received;
    std::size_t count = 0;
    for (const ibv_wc& completion : completions) {
      const WorkId id = WorkId::Unpack(completion.wr_id);
      if (id.kind != WorkId::Kind::kReceive) {
        OnSent(completion);
      } else if (completion.status == IBV_WC_SUCCESS) {
        OnReceived(completion);
        received[count++] = id.value;
      }  // otherwise the queue pair has failed or is closed, and the sends report why
    }
    const auto posted = endpoint_->PostReceives(std::span(received).first(count));
    if (!is_over_) Check(posted);
  }
  if (!is_over_) {
    SendPendingControl();
    GrantToPeer();
  }
  return changed;
}

void StreamConnection::OnReceived(const ibv_wc& completion) {
  const Message message = endpoint_->MessageOf(completion);
  switch (message.op) {
    case MessageOp::kData:
      if (!receiver_.OnData(message.value)) FailWith({EPROTO});
      break;
    case MessageOp::kCredits:
      OnCredits(message.value);
      break;
    case MessageOp::kIomap:
      receiver_.OnCounted();  // the entry is already in the list
      break;
    case MessageOp::kControl:
      OnControl(message.value);
      break;
    case MessageOp::kWrite:
      break;
  }  // other values are reserved, and rdma-core ignores some
}

void StreamConnection::OnCredits(uint32_t value) {
  sender_->OnCredits(value);
  if (const auto target = endpoint_->TakeTarget(next_target_)) {
    next_target_ = (next_target_ + 1) % kTargetEntries;
    if (!sender_->OnTarget(*target)) FailWith({EPROTO});
  }
}

void StreamConnection::OnControl(uint32_t code) {
  if (code == static_cast<uint32_t>(ControlCode::kDisconnect)) {
    is_over_ = true;
  } else if (code == static_cast<uint32_t>(ControlCode::kShutdown)) {
    readable_ = false;
    if (!writable_) is_over_ = true;
  }
}

void StreamConnection::OnSent(const ibv_wc& completion) {
  const WorkId id = WorkId::Unpack(completion.wr_id);
  if (id.kind == WorkId::Kind::kSend) {
    sender_->OnCompletion(1, id.value);
  } else {
    CHECK(control_used_ > 0);
    --control_used_;
    const Message sent = Message::Unpack(id.value);
    if (sent == Message{.op = MessageOp::kControl,
                        .value = static_cast<uint32_t>(ControlCode::kDisconnect)}) {
      is_over_ = true;
    }
  }
  if (completion.status != IBV_WC_SUCCESS) FailWith(ErrnoOfCompletion(completion.status));
}

int StreamConnection::TakeError() { return std::exchange(error_, 0); }

void StreamConnection::FailWith(Errno error) {
  if (is_over_) return;
  is_over_ = true;
  error_ = error.number;
}

void StreamConnection::OnDisconnected() {
  // The last messages of the peer are in the completion queue.
  Progress();
  // A peer that shut down its sending half has sent everything; otherwise the stream was cut off.
  if (readable_) FailWith({ECONNRESET});
  is_over_ = true;
}

void StreamConnection::Consume(uint32_t length) {
  receiver_.Consume(length);
  if (!is_over_) GrantToPeer();
}

void StreamConnection::GrantToPeer() {
  while (receiver_.half_due() || receiver_.credits_due()) {
    const bool half = receiver_.half_due();
    const unsigned needed = half && endpoint_->sends_messages() ? 2 : 1;
    if (control_used_ + needed > kControlSlots) return;  // called again after a completion
    control_used_ += needed;
    if (half) {
      SendHalf();
    } else {
      SendCreditMessage();
    }
    if (is_over_) return;
  }
}

void StreamConnection::SendCreditMessage() {
  Check(endpoint_->PostMessage({.op = MessageOp::kCredits, .value = receiver_.GrantCredits()}));
}

void StreamConnection::SendHalf() {
  const RegisteredMemory& receive = endpoint_->receive_memory();
  const BufferPart half = receiver_.GrantHalf();
  const RemoteBuffer entry{
      .address = receive.address() + half.offset, .rkey = receive.rkey(), .length = half.length};
  const auto bytes = endpoint_->control_buffer(control_count_++ % kControlSlots);
  entry.Serialize(bytes, peer_.order);
  ibv_sge sge{.addr = reinterpret_cast<uint64_t>(bytes.data()),
              .length = RemoteBuffer::kSize,
              .lkey = endpoint_->send_memory().lkey()};
  const Message message{.op = MessageOp::kCredits, .value = receiver_.GrantCredits()};
  Check(endpoint_->PostWrite(
      {.from = {&sge, 1},
       .is_inline = endpoint_->sizes().inline_max >= RemoteBuffer::kSize,
       .remote_address = peer_.target_list.address + next_peer_target_ * RemoteBuffer::kSize,
       .rkey = peer_.target_list.rkey,
       .message = message,
       .id = {.kind = WorkId::Kind::kControl, .value = message.Pack()}}));
  next_peer_target_ = (next_peer_target_ + 1) % peer_.target_list.length;
}

void StreamConnection::Shutdown(int how) {
  if (is_over_) return;
  const bool closes_write = how != SHUT_RD && writable_;
  if (how != SHUT_WR) readable_ = false;
  if (how != SHUT_RD) writable_ = false;
  if (!readable_ && !writable_) {
    pending_control_ = ControlCode::kDisconnect;
  } else if (closes_write) {
    pending_control_ = ControlCode::kShutdown;
  }
  SendPendingControl();
}

void StreamConnection::SendPendingControl() {
  if (!pending_control_ || control_used_ == kControlSlots) return;
  ++control_used_;
  const auto code = static_cast<uint32_t>(*pending_control_);
  pending_control_.reset();
  Check(endpoint_->PostMessage({.op = MessageOp::kControl, .value = code}));
}

bool StreamConnection::is_flushed() const {
  return is_over_ || (sender_->idle() && control_used_ == 0 && !pending_control_);
}

void StreamConnection::PostData(const StreamTransfer& transfer,
                                std::span<const std::byte> inline_bytes) {
  Post(transfer, inline_bytes, Message{.op = MessageOp::kData, .value = transfer.length});
}

void StreamConnection::PostDirect(const StreamTransfer& transfer,
                                  std::span<const std::byte> inline_bytes) {
  Post(transfer, inline_bytes, std::nullopt);
}

void StreamConnection::Post(const StreamTransfer& transfer, std::span<const std::byte> inline_bytes,
                            std::optional<Message> message) {
  const RegisteredMemory& memory = endpoint_->send_memory();
  const bool is_inline = transfer.local.length() == 0;
  std::array<ibv_sge, 2> sges;
  std::size_t count = 0;
  if (is_inline) {
    sges[count++] = {.addr = reinterpret_cast<uint64_t>(inline_bytes.data()),
                     .length = transfer.length,
                     .lkey = 0};
  }
  for (const BufferPart& part : {transfer.local.first, transfer.local.second}) {
    if (part.length == 0) continue;
    sges[count++] = {
        .addr = memory.address() + part.offset, .length = part.length, .lkey = memory.lkey()};
  }
  Check(endpoint_->PostWrite(
      {.from = std::span(sges).first(count),
       .is_inline = is_inline,
       .remote_address = transfer.remote_address,
       .rkey = transfer.rkey,
       .message = message,
       .id = {.kind = WorkId::Kind::kSend, .value = transfer.local.length()}}));
}

std::optional<IomapEntry> StreamConnection::FindIomap(uint64_t offset) const {
  for (unsigned n = 0; n < endpoint_->sizes().iomap_size; ++n) {
    const IomapEntry entry = endpoint_->iomap_entry(n);
    if (offset >= entry.offset && offset - entry.offset < entry.buffer.length) return entry;
  }
  return std::nullopt;
}

bool StreamConnection::SendIomaps() {
  while (const auto announcement = iomaps_->next()) {
    auto transfer = sender_->NextEntry(IomapEntry::kSize);
    if (!transfer || is_over_) return false;
    std::array<std::byte, IomapEntry::kSize> bytes;
    announcement->entry.Serialize(bytes, peer_.order);
    const auto send_buffer = endpoint_->send_memory().bytes();
    const BufferPart &first = transfer->local.first, &second = transfer->local.second;
    std::ranges::copy(std::span(bytes).first(first.length), &send_buffer[first.offset]);
    std::ranges::copy(std::span(bytes).subspan(first.length).first(second.length),
                      &send_buffer[second.offset]);
    // The iomap list is behind the target list.
    transfer->remote_address = peer_.target_list.address +
                               peer_.target_list.length * RemoteBuffer::kSize +
                               announcement->slot * IomapEntry::kSize;
    transfer->rkey = peer_.target_list.rkey;
    Post(*transfer, bytes, Message{.op = MessageOp::kIomap, .value = announcement->slot});
    iomaps_->MarkAnnounced();
  }
  return true;
}

void StreamConnection::SendKeepalive() {
  if (is_over_ || control_used_ == kControlSlots) return;
  ++control_used_;
  const Message message{.op = MessageOp::kControl,
                        .value = static_cast<uint32_t>(ControlCode::kKeepalive)};
  Check(endpoint_->PostWrite({.id = {.kind = WorkId::Kind::kControl, .value = message.Pack()}}));
}

void StreamConnection::Check(const ErrnoOr<void>& posted) {
  if (!posted) FailWith(posted.error());
}

}  // namespace verbena::rsockets
