#include "fabric/transmit_burst.h"

#include <algorithm>
#include <cerrno>

#include "base/check.h"

namespace verbena::fabric {
namespace {

DropReason ReasonOf(int code, bool segmented) {
  switch (code) {
    case EMSGSIZE:
      return DropReason::kTooLong;
    case EINVAL:  // what older kernels say of segments that are too long
      return segmented ? DropReason::kTooLong : DropReason::kOther;
    case EIO:  // no checksum offload, or IPsec
      return segmented ? DropReason::kSegmentationRefused : DropReason::kOther;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case ENODEV:
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
      return DropReason::kUnreachable;
    case EPERM:
    case EACCES:
      return DropReason::kForbidden;
    case ENOBUFS:
    case ENOMEM:
      return DropReason::kNoMemory;
    default:
      return DropReason::kOther;
  }
}

}  // namespace

TransmitBurst::TransmitBurst(const UdpSocket& socket, const TransmitLimits& limits)
    : fd_(socket.fd()),
      family_(socket.family()),
      messages_max_(limits.messages),
      segmentation_(socket.segmentation()),
      staging_(limits.bytes),
      envelopes_(limits.messages),
      headers_(limits.messages) {
  CHECK(limits.messages >= 1);
  CHECK(limits.bytes >= kMessageBytesMax);
  messages_.reserve(limits.messages);
}

bool TransmitBurst::CanJoin(const Message& message, const Route& route, size_t size) const {
  return !route.single && message.segments < kSegmentsMax && size <= message.segment_size &&
         message.last_size == message.segment_size &&
         message.bytes.size() + size <= kMessageBytesMax && message.route == route;
}

std::optional<Reservation> TransmitBurst::Reserve(const Route& route, size_t size) {
  CHECK(size >= 1 && size <= kMessageBytesMax);
  if (size > staging_.available()) return std::nullopt;
  const bool joins =
      segmentation_ && messages_.size() > sealed_ && CanJoin(messages_.back(), route, size);
  if (!joins) {
    if (messages_.size() == messages_max_) return std::nullopt;
    messages_.push_back({.route = route, .bytes = staging_.Take(0), .segment_size = size});
  }
  Message& message = messages_.back();
  const std::span<std::byte> bytes = staging_.Take(size);
  message.bytes = {message.bytes.data(), message.bytes.size() + size};
  message.last_size = size;
  return Reservation{.bytes = bytes, .ip_id = static_cast<uint16_t>(message.segments++)};
}

void TransmitBurst::CancelLast() {
  CHECK(messages_.size() > sealed_);
  Message& message = messages_.back();
  staging_.GiveBack(message.last_size);
  if (message.segments == 1) return messages_.pop_back();
  --message.segments;
  message.bytes = message.bytes.first(message.bytes.size() - message.last_size);
  message.last_size = message.segment_size;  // only the last one may be smaller
}

size_t TransmitBurst::room(size_t size) const {
  return std::min(messages_max_ - messages_.size(), staging_.available() / size);
}

void TransmitBurst::Seal() {
  for (; sealed_ < messages_.size(); ++sealed_) {
    const Message& message = messages_[sealed_];
    Envelope& envelope = envelopes_[sealed_];
    envelope.to = SocketAddress(family_, message.route.to, message.route.interface);
    envelope.data = {.iov_base = message.bytes.data(), .iov_len = message.bytes.size()};
    const size_t cut = message.segments > 1 ? message.segment_size : 0;
    envelope.control.Encode(family_, message.route, static_cast<uint16_t>(cut));
    headers_[sealed_] = {.msg_hdr = {.msg_name = envelope.to.get(),
                                     .msg_namelen = envelope.to.size(),
                                     .msg_iov = &envelope.data,
                                     .msg_iovlen = 1,
                                     .msg_control = envelope.control.data(),
                                     .msg_controllen = envelope.control.size(),
                                     .msg_flags = 0},
                         .msg_len = 0};
  }
}

TransmitBurst::FlushResult TransmitBurst::Flush() {
  Seal();
  while (first_ < messages_.size()) {
    if (!SendSome()) {
      ++counters_.blocked;
      return FlushResult::kBlocked;
    }
  }
  Clear();
  return FlushResult::kDone;
}

// How many, from the first on, or -1. A single one costs less by a call of its own, and less again
// if nothing has to be said about it: 0.1 us of 2.9.
int TransmitBurst::SendMessages(size_t count) {
  if (count > 1) {
    return sendmmsg(fd_, &headers_[first_], static_cast<unsigned>(count), MSG_DONTWAIT);
  }
  const msghdr& message = headers_[first_].msg_hdr;
  const ssize_t sent =
      message.msg_controllen != 0
          ? sendmsg(fd_, &message, MSG_DONTWAIT)
          : sendto(fd_, message.msg_iov->iov_base, message.msg_iov->iov_len, MSG_DONTWAIT,
                   static_cast<const sockaddr*>(message.msg_name), message.msg_namelen);
  return sent < 0 ? -1 : 1;
}

bool TransmitBurst::SendSome() {
  const int sent = SendMessages(messages_.size() - first_);
  ++counters_.system_calls;
  if (sent < 0) return OnError(errno);
  counters_.messages += static_cast<uint64_t>(sent);
  for (const size_t end = first_ + static_cast<size_t>(sent); first_ < end; ++first_) {
    counters_.datagrams += messages_[first_].segments;
    counters_.bytes += messages_[first_].bytes.size();
  }
  if (sent > 0) retried_ = false;
  return true;
}

bool TransmitBurst::OnError(int code) {
  if (code == EAGAIN) return false;
  if (code == EINTR) return true;
  // An ICMP error that an earlier datagram met; to report it clears it.
  if (code == ECONNREFUSED && !retried_) return retried_ = true;
  DropFirst(ReasonOf(code, messages_[first_].segments > 1));
  return true;
}

void TransmitBurst::DropFirst(DropReason reason) {
  // The identifications of its datagrams, hence their ICRCs, are those of segments: it is dropped
  // rather than sent in pieces.
  if (reason == DropReason::kSegmentationRefused) segmentation_ = false;
  counters_.dropped[static_cast<size_t>(reason)] += messages_[first_].segments;
  ++first_;
  retried_ = false;
}

void TransmitBurst::Clear() {
  messages_.clear();
  staging_.Clear();
  sealed_ = 0;
  first_ = 0;
}

}  // namespace verbena::fabric
