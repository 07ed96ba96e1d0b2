#include "fuzz/queue_pair/peer.h"

#include <algorithm>
#include <utility>

#include "tests/support/wire_packets.h"
#include "transport/common/responder_checks.h"

namespace verbena::fuzz {
namespace {

// More than the outstanding requests of a queue pair; older ones are hardly ever repeated.
constexpr size_t kSentMax = 32;

const wire::OpcodeInfo& ChooseOpcode(wire::Service service, Choices& choices) {
  const uint64_t operation = choices.Below(32);
  const auto base = Rarely(choices, 32) ? choices.Below(8) << 5 : uint64_t(service) << 5;
  const auto* const info = wire::FindOpcode(wire::Opcode(static_cast<uint8_t>(base | operation)));
  return info != nullptr ? *info : *wire::FindOpcode(service, wire::Operation::kSend);
}

uint32_t ChooseLength(uint32_t path_mtu, uint64_t all, Choices& choices) {
  switch (choices.Below(8)) {
    case 0:
      return 8;
    case 1:
      return path_mtu;
    case 2:
      return path_mtu + 1;
    case 3:
      return 3 * path_mtu;
    case 4:
      return static_cast<uint32_t>(all);
    case 5:
      return static_cast<uint32_t>(choices.Below(path_mtu));
    case 6:
      return static_cast<uint32_t>(choices.Below(uint64_t{1} << 32));
    default:
      return 0;
  }
}

// An address for an access of `length` bytes within the granted bytes, or just outside of them.
uint64_t ChooseAddress(const Target& target, uint32_t length, Choices& choices) {
  const uint64_t end = target.start + target.length;
  switch (choices.Below(6)) {
    case 1:
      return target.start + choices.Below(target.length + 1);
    case 2:
      return end - length;
    case 3:
      return end - length + 1;
    case 4:
      return target.start - 1;
    case 5:
      return choices.Below(UINT64_MAX);
    default:
      return target.start;
  }
}

wire::Syndrome ChooseSyndrome(Choices& choices) {
  const auto byte = static_cast<uint8_t>(choices.Below(256));
  return wire::Syndrome::FromByte(byte).value_or(wire::Syndrome::Ack());
}

size_t ChoosePayload(const wire::OpcodeInfo& info, uint32_t path_mtu, uint32_t length,
                     Choices& choices) {
  if (!info.has_payload()) return 0;
  if (Rarely(choices, 8)) return choices.Below(path_mtu + 16);
  switch (info.payload) {
    case wire::PayloadRule::kPathMtu:
      return path_mtu;
    case wire::PayloadRule::kEightBytes:
      return 8;
    case wire::PayloadRule::kReserved16:
      return 16;
    case wire::PayloadRule::kNone:
    case wire::PayloadRule::kSome:
    case wire::PayloadRule::kAny:
      break;
  }
  return info.Has(wire::Extension::kReth) && length <= path_mtu ? length
                                                                : choices.Below(path_mtu + 1);
}

wire::Position PositionOf(uint32_t packet, uint32_t packets) {
  if (packets == 1) return wire::Position::kOnly;
  if (packet == 0) return wire::Position::kFirst;
  return packet + 1 == packets ? wire::Position::kLast : wire::Position::kMiddle;
}

// The size of the last packet of a message, or another one.
uint32_t ChooseLast(uint32_t length, uint32_t path_mtu, Choices& choices) {
  if (Rarely(choices, 8)) return static_cast<uint32_t>(1 + choices.Below(path_mtu));
  return length - (transport::PsnCountOf(length, path_mtu) - 1) * path_mtu;
}

Bytes Fill(size_t size, uint64_t first) {
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(first++);
  return bytes;
}

// Makes a packet invalid: a wrong pad count, a length that is not a multiple of 4, a changed byte.
void Tamper(Bytes& packet, Choices& choices) {
  switch (choices.Below(3)) {
    case 0:
      packet[1] ^= static_cast<std::byte>(choices.Below(4) << 4);
      break;
    case 1:
      packet.resize(packet.size() - std::min<size_t>(packet.size(), 16) + choices.Below(32));
      break;
    default:
      packet[choices.Below(std::min<size_t>(packet.size(), 64))] ^=
          static_cast<std::byte>(choices.Below(256));
      break;
  }
}

}  // namespace

Psn Peer::ChoosePsn(const wire::OpcodeInfo& info, Choices& choices) const {
  const uint64_t how = choices.Below(8);
  Psn psn = next;
  if (info.is_response && !sent.empty()) psn = sent[choices.Below(sent.size())].psn;
  if (how == 5) return psn - 1;
  if (how == 6) return psn + 1;
  if (how == 7) return psn + static_cast<uint32_t>(choices.Below(uint64_t{1} << 24));
  return psn;
}

Target Peer::ChooseTarget(Choices& choices) const {
  if (targets.empty()) return {};
  Target target = targets[choices.Below(targets.size())];
  if (Rarely(choices, 16)) target.key ^= 1U << choices.Below(32);
  return target;
}

Bytes Peer::MakePacket(Choices& choices) {
  const wire::OpcodeInfo& info = ChooseOpcode(service, choices);
  const Psn psn = ChoosePsn(info, choices);
  const Target target = ChooseTarget(choices);
  const uint32_t length = ChooseLength(path_mtu, target.length, choices);
  const uint64_t flags = choices.Below(8);
  const KeyAddress address(ChooseAddress(target, info.is_atomic() ? 8 : length, choices));
  wire::AllHeaders headers;
  headers.bth = {.opcode = info.opcode,
                 .solicited_event = (flags & 1) != 0,
                 .p_key = wire::kDefaultPKey,
                 .dest_qp = to,
                 .ack_request = (flags & 2) == 0,
                 .psn = psn};
  headers.deth = {.q_key = (flags & 4) == 0 ? q_key : QKey(q_key.value() + 1), .source_qp = number};
  headers.xrceth = {.srq = srq};
  headers.feth = {.placement = wire::Feth::kPersistence, .selectivity = wire::Feth::kRange};
  headers.reth = {.address = address, .r_key = Key(target.key), .dma_length = length};
  headers.atomic_eth = {
      .address = address, .r_key = Key(target.key), .swap_or_add = flags, .compare = 0};
  headers.aeth = {.syndrome = ChooseSyndrome(choices), .msn = wire::Msn(psn.value())};
  headers.atomic_ack_eth = {.original = flags};
  headers.ieth = {.r_key = Key(target.key)};
  const size_t size = ChoosePayload(info, path_mtu, length, choices);
  Bytes packet = wire::BuildPacket(info, headers, Fill(size, psn.value()));
  if (Rarely(choices, 16)) Tamper(packet, choices);
  Advance(info, psn, info.operation == wire::Operation::kReadRequest ? length : 0);
  return packet;
}

std::vector<Bytes> Peer::MakeMessage(Choices& choices) {
  const bool is_write = choices.Below(2) != 0;
  const auto companion = static_cast<wire::Companion>(choices.Below(is_write ? 2 : 3));
  const Target target = ChooseTarget(choices);
  const auto length =
      static_cast<uint32_t>(choices.Below(4 * path_mtu + (Rarely(choices, 4) ? 4096 : 1)));
  const KeyAddress address(ChooseAddress(target, length, choices));
  const uint32_t packets = transport::PsnCountOf(length, path_mtu);
  const uint32_t last = ChooseLast(length, path_mtu, choices);
  std::vector<Bytes> message;
  for (uint32_t i = 0; i < packets; ++i) {
    const bool is_last = i + 1 == packets;
    const auto* const info =
        wire::FindOpcode(service, is_write ? wire::Operation::kWrite : wire::Operation::kSend,
                         PositionOf(i, packets), is_last ? companion : wire::Companion::kNone);
    if (info == nullptr) return {};  // no such opcode in this service
    wire::AllHeaders headers;
    headers.bth = {.opcode = info->opcode,
                   .p_key = wire::kDefaultPKey,
                   .dest_qp = to,
                   .ack_request = is_last,
                   .psn = next};
    headers.deth = {.q_key = q_key, .source_qp = number};
    headers.xrceth = {.srq = srq};
    headers.reth = {.address = address, .r_key = Key(target.key), .dma_length = length};
    headers.ieth = {.r_key = Key(target.key)};
    const uint32_t size = is_last ? last : path_mtu;
    message.push_back(wire::BuildPacket(*info, headers, Fill(size, next.value())));
    next = next + 1;
  }
  return message;
}

Bytes Peer::MakeResponse(wire::Operation operation, wire::Position position, Psn psn,
                         size_t size) const {
  const auto* const info = wire::FindOpcode(service, operation, position);
  wire::AllHeaders headers;
  headers.bth = {.opcode = info->opcode, .p_key = wire::kDefaultPKey, .dest_qp = to, .psn = psn};
  headers.aeth = {.syndrome = wire::Syndrome::Ack(), .msn = wire::Msn(psn.value())};
  return wire::BuildPacket(*info, headers, Fill(size, psn.value()));
}

std::vector<Bytes> Peer::MakeAnswer(Choices& choices) {
  if (sent.empty() || wire::FindOpcode(service, wire::Operation::kAcknowledge) == nullptr) {
    return {};
  }
  const size_t which = choices.Below(sent.size());
  const Request request = sent[which];
  sent.erase(sent.begin(), sent.begin() + static_cast<std::ptrdiff_t>(which) + 1);
  const bool is_atomic = request.operation == wire::Operation::kCompareSwap ||
                         request.operation == wire::Operation::kFetchAdd;
  if (is_atomic) {
    return {
        MakeResponse(wire::Operation::kAtomicAcknowledge, wire::Position::kOnly, request.psn, 0)};
  }
  const bool is_read = request.operation == wire::Operation::kReadRequest ||
                       request.operation == wire::Operation::kFlush ||
                       request.operation == wire::Operation::kAtomicWrite;
  if (!is_read) {
    return {MakeResponse(wire::Operation::kAcknowledge, wire::Position::kOnly, request.psn, 0)};
  }
  std::vector<Bytes> answer;
  const uint32_t packets = transport::PsnCountOf(request.length, path_mtu);
  const uint32_t last = ChooseLast(request.length, path_mtu, choices);
  for (uint32_t i = 0; i < packets; ++i) {
    const uint32_t size = i + 1 == packets ? last : path_mtu;
    answer.push_back(MakeResponse(wire::Operation::kReadResponse, PositionOf(i, packets),
                                  request.psn + i, size));
  }
  return answer;
}

Bytes Peer::MakeNoise(Choices& choices) const {
  Bytes bytes(choices.Below(96));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(choices.Below(256));
  if (bytes.size() < wire::Bth::kSize || Rarely(choices, 4)) return bytes;
  const uint32_t value = to.value();
  for (size_t i = 0; i < 3; ++i) bytes[5 + i] = static_cast<std::byte>(value >> (16 - 8 * i));
  return bytes;
}

void Peer::Advance(const wire::OpcodeInfo& info, Psn psn, uint32_t length) {
  if (!info.is_request || psn != next) return;
  next = next + transport::PsnCountOf(length, path_mtu);
}

void Peer::OnPacket(const wire::Packet& packet) {
  const Psn psn = packet.bth().psn;
  if (packet.info().is_request) {
    if (sent.size() == kSentMax) sent.erase(sent.begin());
    const auto reth = packet.Get<wire::Reth>();
    const bool is_read = packet.info().operation == wire::Operation::kReadRequest;
    sent.push_back({psn, packet.info().operation, is_read ? reth->dma_length : 0});
    return;
  }
  // The PSN that the responder expects next.
  const auto aeth = packet.Get<wire::Aeth>();
  next = aeth && !aeth->syndrome.is_ack() ? psn : psn + 1;
}

}  // namespace verbena::fuzz
