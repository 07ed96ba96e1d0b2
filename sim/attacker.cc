#include "sim/attacker.h"

#include <algorithm>
#include <array>

#include "sim/noise.h"
#include "wire/roce/aeth.h"
#include "wire/roce/atomic_ack_eth.h"
#include "wire/roce/atomic_eth.h"
#include "wire/roce/feth.h"
#include "wire/roce/ieth.h"
#include "wire/roce/immdt.h"
#include "wire/roce/packet.h"
#include "wire/roce/reth.h"

namespace verbena::sim {
namespace {

constexpr uint32_t kWord = sizeof(uint64_t);

// The right that a request needs; kNone for a request without bytes.
Access RightFor(wire::Operation operation) {
  if (operation == wire::Operation::kReadRequest) return Access::kRemoteRead;
  if (operation == wire::Operation::kCompareSwap || operation == wire::Operation::kFetchAdd) {
    return Access::kRemoteAtomic;
  }
  return Access::kRemoteWrite;
}

bool NamesBytes(const wire::OpcodeInfo& info) {
  return info.Has(wire::Extension::kReth) || info.Has(wire::Extension::kAtomicEth);
}

}  // namespace

std::optional<Event> Attacker::Attack(const std::vector<std::unique_ptr<Connection>>& connections,
                                      Connection& connection, int at) {
  Side& victim = connection.side(at);
  const Side& peer = connection.side(1 - at);
  const wire::OpcodeInfo* const info =
      wire::FindOpcode(wire::Opcode(static_cast<uint8_t>(random_.Below(32))));
  if (info == nullptr || connection.broken || connection.is_spared) return std::nullopt;
  // The next request of the peer, or a response to the last request of the victim.
  const std::optional<Psn> next = info->is_request ? peer.next_psn : victim.next_psn;
  if (!next) return std::nullopt;
  const Psn psn = info->is_request && random_.Chance(3, 4) ? *next : *next - 1;

  const bool is_word = info->is_atomic() || info->operation == wire::Operation::kAtomicWrite;
  const uint64_t longest = uint64_t{swarm_.path_mtu} * 2;
  uint32_t length = is_word ? kWord : static_cast<uint32_t>(1 + random_.Below(longest));
  if (info->operation == wire::Operation::kWrite && info->ends_message()) {
    length = 1 + length % swarm_.path_mtu;
  } else if (info->operation == wire::Operation::kWrite) {
    length += swarm_.path_mtu;
  }
  const Target target = SomeTarget(connections, victim, length);
  const bool is_granted = victim.node->access.Allows(target.key, target.address, length,
                                                     RightFor(info->operation), victim.number);
  if (NamesBytes(*info) && is_granted) return std::nullopt;

  connection.is_attacked = connection.has_reason = true;
  for (const auto& side : connection.sides) {
    side->local->shadow().Loosen();
    side->exposed->shadow().Loosen();
  }
  Event event{.to = victim.node->number,
              .from = peer.node->number,
              .packet = Build(*info, psn, victim.number, target, length)};
  Network::Seal(swarm_, event);
  return event;
}

Attacker::Target Attacker::SomeTarget(const std::vector<std::unique_ptr<Connection>>& connections,
                                      Side& victim, uint64_t length) {
  const auto of = [](const RemoteAddress& remote) {
    return Target{remote.key.value(), remote.address};
  };
  const uint64_t end = GuardedMemory::kBase + victim.exposed->size();
  const uint32_t key = victim.exposed->keys().remote.value();
  const Target kinds[] = {
      {random_.Next32(), GuardedMemory::kBase},
      {key ^ 1u << random_.Below(8), GuardedMemory::kBase},
      {key, end - length + 1 + random_.Below(length)},
      {key, (GuardedMemory::kBase - 1 - random_.Below(kPage)) & ~uint64_t{7}},
      of(victim.local->Remote(0)),
      of(victim.node->counters->Remote(kWord * 8)),
      SomeGranted(connections, victim).value_or(Target{random_.Next32(), GuardedMemory::kBase}),
  };
  return kinds[random_.Below(std::size(kinds))];
}

// A key that was granted on the same endnode: to another peer, or long ago.
std::optional<Attacker::Target> Attacker::SomeGranted(
    const std::vector<std::unique_ptr<Connection>>& connections, const Side& victim) {
  std::vector<Target> granted_keys;
  for (const auto& connection : connections) {
    for (const auto& side : connection->sides) {
      if (side->node != victim.node) continue;
      for (const auto& granted : side->granted_keys) {
        const uint64_t slot = uint64_t{granted->slot} * swarm_.slot_bytes;
        granted_keys.push_back(
            {granted->key.value(), granted->zero_based ? 0 : GuardedMemory::kBase + slot});
      }
    }
  }
  if (granted_keys.empty()) return std::nullopt;
  return granted_keys[random_.Below(granted_keys.size())];
}

std::vector<std::byte> Attacker::Build(const wire::OpcodeInfo& info, Psn psn, QpNumber to,
                                       const Target& target, uint32_t length) {
  uint64_t size = info.has_payload() ? std::min(length, swarm_.path_mtu) : 0;
  if (info.payload == wire::PayloadRule::kPathMtu) size = swarm_.path_mtu;
  if (info.payload == wire::PayloadRule::kEightBytes) size = kWord;
  std::array<std::byte, transport::OutPacket::kHeaderMax> header;
  wire::PacketBuilder builder(
      header, {.opcode = info.opcode, .dest_qp = to, .ack_request = true, .psn = psn}, size);
  const Key key(target.key);
  const KeyAddress address(target.address);
  const auto has = [&](wire::Extension extension) { return info.Has(extension); };
  if (has(wire::Extension::kReth)) {
    builder.Add(wire::Reth{.address = address, .r_key = key, .dma_length = length});
  }
  if (has(wire::Extension::kFeth)) {
    builder.Add(
        wire::Feth{.placement = wire::Feth::kGlobalVisibility, .selectivity = wire::Feth::kRange});
  }
  if (has(wire::Extension::kAtomicEth)) {
    builder.Add(wire::AtomicEth{
        .address = address, .r_key = key, .swap_or_add = random_.Next64(), .compare = 0});
  }
  if (has(wire::Extension::kAeth)) {
    const auto code = static_cast<uint8_t>(random_.Below(5));
    const wire::Syndrome kinds[] = {wire::Syndrome::Ack(wire::kCreditsInvalid),
                                    wire::Syndrome::Nak(static_cast<wire::NakCode>(code)),
                                    wire::Syndrome::RnrNak(wire::RnrTimerAtLeast(Duration()))};
    builder.Add(wire::Aeth{.syndrome = kinds[random_.Below(3)], .msn = wire::Msn(0)});
  }
  if (has(wire::Extension::kAtomicAckEth)) {
    builder.Add(wire::AtomicAckEth{.original = random_.Next64()});
  }
  if (has(wire::Extension::kImmDt)) builder.Add(wire::ImmDt{.data = random_.Next32()});
  if (has(wire::Extension::kIeth)) builder.Add(wire::Ieth{.r_key = key});
  std::vector<std::byte> bytes(builder.headers().begin(), builder.headers().end());
  const std::vector<std::byte> payload = Noise(random_, size);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  bytes.resize(builder.size());
  return bytes;
}

}  // namespace verbena::sim
