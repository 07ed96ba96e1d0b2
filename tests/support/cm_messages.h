#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/support/wire_header.h"
#include "wire/mad/cm_mad.h"
#include "wire/mad/cm_path.h"

namespace verbena::wire {

// Messages of the connection manager for tests: with known bytes, and with random valid values.

inline std::byte CountingByte(std::size_t i) { return static_cast<std::byte>(i % 251); }

template <std::size_t kSize>
PrivateData<kSize> CountingData() {
  PrivateData<kSize> data;
  for (std::size_t i = 0; i < kSize; ++i) data.bytes[i] = CountingByte(i);
  return data;
}

// A path of the messages with known bytes.
inline CmPath ExamplePath() {
  return {.local_lid = Lid(0x1100),
          .remote_lid = Lid(0x2200),
          .local_gid = {{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
          .remote_gid = {{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}},
          .flow_label = 0xabcd0,
          .packet_rate = 0x21,
          .traffic_class = 0x60,
          .hop_limit = 0x40,
          .sl = 5,
          .subnet_local = true,
          .ack_timeout = AckTimeout(18)};
}

template <std::size_t kSize>
PrivateData<kSize> DrawData(Random& random) {
  return PrivateData<kSize>::From(RandomBytes(random, kSize));
}

// `hex` has the bytes up to additional information or private data; those count up from 0.
template <class Message>
void ExpectMessageBytes(const Message& message, std::string_view hex) {
  std::vector<std::byte> bytes = FromHex(hex);
  const std::size_t fields = bytes.size();
  bytes.resize(Message::kSize);
  std::size_t info = 0;
  if constexpr (requires { message.info; }) info = message.info.kSize;
  for (std::size_t i = fields; i < bytes.size(); ++i) {
    bytes[i] = CountingByte(i - fields < info ? i - fields : i - fields - info);
  }
  EXPECT_EQ(Written(message), bytes);
  EXPECT_EQ(Message::Parse(bytes), message);
  EXPECT_EQ(Message::Parse(std::span(bytes).first(Message::kSize - 1)), std::nullopt);
}

// The number of reserved bits in a message.
template <class Message>
int ReservedBitsOf(const Message& message) {
  std::vector<std::byte> bytes = Written(message);
  int count = 0;
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    const auto mask = static_cast<std::byte>(0x80U >> bit % 8);
    bytes[bit / 8] ^= mask;
    if (Message::Parse(bytes) == message) ++count;
    bytes[bit / 8] ^= mask;
  }
  return count;
}

inline IpAddress DrawGid(Random& random) {
  IpAddress gid;
  for (uint8_t& byte : gid.bytes) byte = static_cast<uint8_t>(random.Below(256));
  return gid;
}

inline CmPath DrawCmPath(Random& random) {
  return {.local_lid = Lid(static_cast<uint16_t>(random.Next32())),
          .remote_lid = Lid(static_cast<uint16_t>(random.Next32())),
          .local_gid = DrawGid(random),
          .remote_gid = DrawGid(random),
          .flow_label = static_cast<uint32_t>(random.Below(1 << 20)),
          .packet_rate = static_cast<uint8_t>(random.Below(64)),
          .traffic_class = static_cast<uint8_t>(random.Below(256)),
          .hop_limit = static_cast<uint8_t>(random.Below(256)),
          .sl = static_cast<uint8_t>(random.Below(16)),
          .subnet_local = random.Chance(1, 2),
          .ack_timeout = AckTimeout(static_cast<uint8_t>(random.Below(32)))};
}

inline CmReq DrawCmReq(Random& random) {
  return {.local_comm_id = CommId(random.Next32()),
          .ece = {.vendor_id = random.Next32() & kMax24},
          .service_id = ServiceId(random.Next64()),
          .local_ca_guid = CaGuid(random.Next64()),
          .local_q_key = QKey(random.Next32()),
          .local_qp = QpNumber(random.Next32() & kMax24),
          .responder_resources = static_cast<uint8_t>(random.Below(256)),
          .local_eecn = EeContext(random.Next32() & kMax24),
          .initiator_depth = static_cast<uint8_t>(random.Below(256)),
          .remote_eecn = EeContext(random.Next32() & kMax24),
          .remote_response_timeout = CmTimeout(static_cast<uint8_t>(random.Below(32))),
          .service_type = static_cast<CmServiceType>(random.Below(4)),
          .flow_control = random.Chance(1, 2),
          .starting_psn = Psn(random.Next32() & kMax24),
          .local_response_timeout = CmTimeout(static_cast<uint8_t>(random.Below(32))),
          .retry_count = static_cast<uint8_t>(random.Below(8)),
          .p_key = PKey(static_cast<uint16_t>(random.Next32())),
          .path_mtu = CmMtu(static_cast<uint8_t>(random.Below(16))),
          .rdc_exists = random.Chance(1, 2),
          .rnr_retry_count = static_cast<uint8_t>(random.Below(8)),
          .max_cm_retries = static_cast<uint8_t>(random.Below(16)),
          .srq = random.Chance(1, 2),
          .extended_transport = static_cast<uint8_t>(random.Below(8)),
          .primary = DrawCmPath(random),
          .alternate = DrawCmPath(random),
          .private_data = DrawData<92>(random)};
}

inline CmMra DrawCmMra(Random& random) {
  return {.local_comm_id = CommId(random.Next32()),
          .remote_comm_id = CommId(random.Next32()),
          .received = static_cast<CmSubject>(random.Below(3)),
          .service_timeout = CmTimeout(static_cast<uint8_t>(random.Below(32))),
          .private_data = DrawData<222>(random)};
}

inline CmRej DrawCmRej(Random& random) {
  return {.local_comm_id = CommId(random.Next32()),
          .remote_comm_id = CommId(random.Next32()),
          .rejected = static_cast<CmSubject>(random.Below(3)),
          .info_length = static_cast<uint8_t>(random.Below(73)),
          .reason = static_cast<CmRejectReason>(random.Below(34)),
          .info = DrawData<72>(random),
          .private_data = DrawData<148>(random)};
}

inline CmRep DrawCmRep(Random& random) {
  return {.local_comm_id = CommId(random.Next32()),
          .remote_comm_id = CommId(random.Next32()),
          .local_q_key = QKey(random.Next32()),
          .local_qp = QpNumber(random.Next32() & kMax24),
          .ece = {.vendor_id = random.Next32() & kMax24},
          .local_eecn = EeContext(random.Next32() & kMax24),
          .starting_psn = Psn(random.Next32() & kMax24),
          .responder_resources = static_cast<uint8_t>(random.Below(256)),
          .initiator_depth = static_cast<uint8_t>(random.Below(256)),
          .target_ack_delay = CmTimeout(static_cast<uint8_t>(random.Below(32))),
          .failover = static_cast<uint8_t>(random.Below(4)),
          .flow_control = random.Chance(1, 2),
          .rnr_retry_count = static_cast<uint8_t>(random.Below(8)),
          .srq = random.Chance(1, 2),
          .local_ca_guid = CaGuid(random.Next64()),
          .private_data = DrawData<196>(random)};
}

inline CmRtu DrawCmRtu(Random& random) {
  return {.local_comm_id = CommId(random.Next32()),
          .remote_comm_id = CommId(random.Next32()),
          .private_data = DrawData<224>(random)};
}

inline CmDreq DrawCmDreq(Random& random) {
  return {.local_comm_id = CommId(random.Next32()),
          .remote_comm_id = CommId(random.Next32()),
          .remote_qp = QpNumber(random.Next32() & kMax24),
          .private_data = DrawData<220>(random)};
}

inline CmDrep DrawCmDrep(Random& random) {
  return {.local_comm_id = CommId(random.Next32()),
          .remote_comm_id = CommId(random.Next32()),
          .private_data = DrawData<224>(random)};
}

inline CmLap DrawCmLap(Random& random) {
  return {.local_comm_id = CommId(random.Next32()),
          .remote_comm_id = CommId(random.Next32()),
          .remote_qp = QpNumber(random.Next32() & kMax24),
          .remote_response_timeout = CmTimeout(static_cast<uint8_t>(random.Below(32))),
          .alternate = DrawCmPath(random),
          .private_data = DrawData<168>(random)};
}

inline CmApr DrawCmApr(Random& random) {
  return {.local_comm_id = CommId(random.Next32()),
          .remote_comm_id = CommId(random.Next32()),
          .info_length = static_cast<uint8_t>(random.Below(73)),
          .status = static_cast<CmAprStatus>(random.Below(6)),
          .info = DrawData<72>(random),
          .private_data = DrawData<148>(random)};
}

inline CmSidrReq DrawCmSidrReq(Random& random) {
  return {.request_id = SidrRequestId(random.Next32()),
          .p_key = PKey(static_cast<uint16_t>(random.Next32())),
          .service_id = ServiceId(random.Next64()),
          .private_data = DrawData<216>(random)};
}

inline CmSidrRep DrawCmSidrRep(Random& random) {
  return {.request_id = SidrRequestId(random.Next32()),
          .status = static_cast<CmSidrStatus>(random.Below(6)),
          .info_length = static_cast<uint8_t>(random.Below(73)),
          .qp = QpNumber(random.Next32() & kMax24),
          .service_id = ServiceId(random.Next64()),
          .q_key = QKey(random.Next32()),
          .info = DrawData<72>(random),
          .private_data = DrawData<136>(random)};
}

// One of each, in the order of the variant.
inline std::vector<CmMessage> DrawAllCmMessages(Random& random) {
  return {DrawCmReq(random),     DrawCmMra(random),  DrawCmRej(random),  DrawCmRep(random),
          DrawCmRtu(random),     DrawCmDreq(random), DrawCmDrep(random), DrawCmSidrReq(random),
          DrawCmSidrRep(random), DrawCmLap(random),  DrawCmApr(random)};
}

}  // namespace verbena::wire
