#include "fabric/receive_burst.h"

#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/udp.h>

#include <algorithm>
#include <array>

#include "base/check.h"

namespace verbena::fabric {
namespace {

// Limits of a coalesced message: the bytes of an IP packet, and that many datagrams.
constexpr size_t kCoalescedBytesMax = 64 << 10;
constexpr size_t kCoalescedMax = 128;

}  // namespace

ReceiveBurst::ReceiveBurst(const UdpSocket& socket, const ReceiveLimits& limits)
    : fd_(socket.fd()),
      can_coalesce_(socket.coalescing()),
      buffer_bytes_(can_coalesce_ ? kCoalescedBytesMax : limits.datagram_bytes),
      buffers_(std::make_unique_for_overwrite<std::byte[]>(buffer_bytes_ * limits.messages)),
      envelopes_(limits.messages),
      headers_(limits.messages) {
  CHECK(limits.messages >= 1);
  datagrams_.reserve(limits.messages * (can_coalesce_ ? kCoalescedMax : 1));
  for (size_t i = 0; i < limits.messages; ++i) Prepare(i);
}

void ReceiveBurst::Prepare(size_t index) {
  Envelope& envelope = envelopes_[index];
  envelope.data = {.iov_base = &buffers_[index * buffer_bytes_], .iov_len = buffer_bytes_};
  headers_[index] = {.msg_hdr = {.msg_name = envelope.from.get(),
                                 .msg_namelen = envelope.from.size(),
                                 .msg_iov = &envelope.data,
                                 .msg_iovlen = 1,
                                 .msg_control = envelope.control.data(),
                                 .msg_controllen = ControlMessages::kCapacity,
                                 .msg_flags = 0},
                     .msg_len = 0};
}

std::span<const ReceivedDatagram> ReceiveBurst::Receive() {
  for (size_t i = 0; i < used_; ++i) Prepare(i);
  datagrams_.clear();
  used_ = ReceiveMessages();
  streak_ = used_ == 0 ? 0 : streak_ + 1;
  for (size_t i = 0; i < used_; ++i) TakeApart(headers_[i], envelopes_[i]);
  counters_.messages += used_;
  counters_.datagrams += datagrams_.size();
  const bool flows = streak_ >= kStreak || datagrams_.size() > 1;
  lone_calls_ = flows ? 0 : lone_calls_ + 1;
  if (!is_stream_ && flows) BeginStream();
  if (is_stream_ && lone_calls_ >= kStreamEnd && !expects_headers_) EndStream();
  return datagrams_;
}

void ReceiveBurst::BeginStream() {
  if (can_coalesce_) Coalesce(true);
  is_stream_ = true;
}

// Datagrams that are in the socket now may have been coalesced before. If there are any, the stream
// continues.
void ReceiveBurst::EndStream() {
  lone_calls_ = 0;
  if (can_coalesce_) {
    if (!Coalesce(false)) return;
    std::byte none{};
    if (recv(fd_, &none, 0, MSG_PEEK | MSG_DONTWAIT) >= 0) {
      Coalesce(true);
      return;
    }
  }
  is_stream_ = false;
}

bool ReceiveBurst::Coalesce(bool on) const {
  const int value = on ? 1 : 0;
  return setsockopt(fd_, IPPROTO_UDP, UDP_GRO, &value, sizeof(value)) == 0;
}

void ReceiveBurst::ExpectHeaders() {
  expects_headers_ = true;
  if (!is_stream_) BeginStream();
}

ReceiveCounters ReceiveBurst::Counters() const {
  ReceiveCounters all = counters_;
  std::array<uint32_t, SK_MEMINFO_VARS> memory{};
  socklen_t size = sizeof(memory);
  if (getsockopt(fd_, SOL_SOCKET, SO_MEMINFO, memory.data(), &size) == 0) {
    all.kernel_drops = memory[SK_MEMINFO_DROPS];
  }
  return all;
}

// On any error there is nothing to receive now, and the next call reports what there is: an ICMP
// error for an earlier datagram is reported once.
size_t ReceiveBurst::ReceiveMessages() {
  ++counters_.system_calls;
  if (!is_stream_) return ReceiveLone();
  if (streak_ < kStreak) {
    const ssize_t size = recvmsg(fd_, &headers_[0].msg_hdr, MSG_DONTWAIT);
    headers_[0].msg_len = static_cast<unsigned>(std::max<ssize_t>(size, 0));
    return size < 0 ? 0 : 1;
  }
  const int count =
      recvmmsg(fd_, headers_.data(), static_cast<unsigned>(headers_.size()), MSG_DONTWAIT, nullptr);
  return static_cast<size_t>(std::max(count, 0));
}

size_t ReceiveBurst::ReceiveLone() {
  Envelope& envelope = envelopes_[0];
  msghdr& header = headers_[0].msg_hdr;
  const ssize_t size = recvfrom(fd_, envelope.data.iov_base, envelope.data.iov_len,
                                MSG_DONTWAIT | MSG_TRUNC, envelope.from.get(), &header.msg_namelen);
  if (size < 0) return 0;
  headers_[0].msg_len = static_cast<unsigned>(size);
  header.msg_controllen = 0;
  header.msg_flags = static_cast<size_t>(size) > envelope.data.iov_len ? MSG_TRUNC : 0;
  return 1;
}

void ReceiveBurst::TakeApart(const mmsghdr& header, const Envelope& envelope) {
  const Arrival arrival = DecodeArrival(header.msg_hdr);
  std::span<const std::byte> rest(static_cast<const std::byte*>(envelope.data.iov_base),
                                  header.msg_len);
  const size_t step = arrival.segment_size != 0 ? arrival.segment_size : rest.size();
  const auto from = envelope.from.endpoint();
  if ((header.msg_hdr.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 || !from ||
      rest.size() > step * kCoalescedMax) {
    ++counters_.malformed;
    return;
  }
  counters_.bytes += rest.size();
  uint8_t segment = 0;
  do {  // also once for an empty datagram
    CHECK(datagrams_.size() < datagrams_.capacity());
    const auto bytes = rest.first(std::min(step, rest.size()));
    datagrams_.push_back({.from = *from,
                          .to = arrival.to,
                          .interface = arrival.interface,
                          .traffic_class = arrival.traffic_class,
                          .segment = segment++,
                          .bytes = bytes});
    rest = rest.subspan(bytes.size());
  } while (!rest.empty());
}

}  // namespace verbena::fabric
