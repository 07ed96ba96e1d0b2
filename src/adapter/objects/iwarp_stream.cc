#include "adapter/objects/iwarp_stream.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"

namespace verbena::adapter {

using End = fabric::TcpTransfer::End;

void IwarpStream::OnEnd(End how) {
  peer_has_closed_ = peer_has_closed_ || how == End::kClosed || how == End::kBroken;
  is_broken_ = is_broken_ || how == End::kBroken;
}

void IwarpStream::Put(std::span<const std::byte> bytes) {
  const std::span<std::byte> room = out_->Reserve(bytes.size());
  CHECK(room.size() == bytes.size());
  std::ranges::copy(bytes, room.begin());
  out_->Commit(bytes.size());
}

size_t IwarpStream::Flush() {
  if (!has_unsent()) return 0;
  const fabric::TcpTransfer written = socket_.Write(out_->bytes());
  // What the peer has sent before it ended the stream can still be read, and says why.
  const bool is_refused = written.end == End::kBroken;
  out_->Consume(is_refused ? out_->size() : written.bytes);
  has_lost_bytes_ = has_lost_bytes_ || is_refused;
  is_blocked_ = written.end == End::kBlocked;
  return written.bytes;
}

void IwarpStream::AllocateReceives(size_t capacity) {
  // With half of it held there is room for a read.
  receive_capacity_ = std::max(capacity, 2 * socket_.read_min());
  receives_ = std::make_unique_for_overwrite<std::byte[]>(receive_capacity_);
}

size_t IwarpStream::Read() {
  if (peer_has_closed_ || !has_room()) return 0;
  // The rest of a frame moves to the front, so that the frame can become whole.
  const size_t held = end_of_receives_ - begin_;
  if (begin_ > 0 && receive_capacity_ - end_of_receives_ < receive_capacity_ / 2) {
    std::memmove(receives_.get(), receives_.get() + begin_, held);
    begin_ = 0;
    end_of_receives_ = held;
  }
  const fabric::TcpTransfer read =
      socket_.Read({receives_.get() + end_of_receives_, receive_capacity_ - end_of_receives_});
  end_of_receives_ += read.bytes;
  OnEnd(read.end);
  return read.bytes;
}

void IwarpStream::Take(size_t bytes) {
  CHECK(bytes <= end_of_receives_ - begin_);
  begin_ += bytes;
  if (begin_ == end_of_receives_) begin_ = end_of_receives_ = 0;
}

void IwarpStream::Discard() {
  constexpr int kReadsMax = 16;  // so that an endless stream does not stop the others
  std::array<std::byte, 16'384> dropped;
  for (int i = 0; i < kReadsMax && !peer_has_closed_; ++i) {
    const fabric::TcpTransfer read = socket_.Read(dropped);
    OnEnd(read.end);
    if (read.end == End::kBlocked) return;
  }
}

void IwarpStream::ReadFrame() {
  std::array<std::byte, wire::MpaRequest::kSize + wire::MpaRequest::kPrivateDataMax> bytes;
  const fabric::TcpTransfer read = socket_.Read(bytes);
  OnEnd(read.end);
  const auto got = std::span<const std::byte>(bytes).first(read.bytes);
  const auto behind = got.subspan(frame.Take(got));
  if (behind.empty()) return;
  // An initiator waits for the reply. (RFC 5044, 7.1.1)
  is_hasty_ = phase == StreamPhase::kAwaitsRequest;
  if (!is_hasty_) Receive(behind);
}

void IwarpStream::ReadHead(size_t size) {
  CHECK(size <= head_.size());
  while (head_size_ < size && !peer_has_closed_) {
    const fabric::TcpTransfer read = socket_.Read({head_.data() + head_size_, size - head_size_});
    head_size_ += read.bytes;
    OnEnd(read.end);
    if (read.end == End::kBlocked) return;
  }
}

void IwarpStream::HeadIsOfFrame() {
  CHECK(frame.Take(head()) == head_size_);
  head_size_ = 0;
}

void IwarpStream::HeadIsReceived() {
  Receive(head());
  head_size_ = 0;
}

void IwarpStream::Receive(std::span<const std::byte> bytes) {
  CHECK(bytes.size() <= receive_capacity_ - end_of_receives_);
  std::ranges::copy(bytes, receives_.get() + end_of_receives_);
  end_of_receives_ += bytes.size();
}

void IwarpStream::CloseWrites() {
  if (!has_closed_writes_ && !is_broken_) socket_.CloseWrites();
  has_closed_writes_ = true;
}

void IwarpStream::Reset() {
  if (!is_broken_) socket_.Reset();
  if (out_ != nullptr) out_->Clear();
  has_closed_writes_ = peer_has_closed_ = is_broken_ = true;
}

void IwarpStream::EndSocket() {
  CloseWrites();
  socket_ = {};
  is_broken_ = peer_has_closed_ = true;
}

}  // namespace verbena::adapter
