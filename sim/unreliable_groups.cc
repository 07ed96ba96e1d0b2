// Multicast: datagram queue pairs join and leave groups, and the expected messages.

#include <algorithm>

#include "sim/unreliable.h"
#include "wire/roce/deth.h"
#include "wire/roce/immdt.h"

namespace verbena::sim {

void Unreliable::JoinSome(UnreliableEndpoint& endpoint) {
  for (uint32_t group = 0; group < swarm_.groups; ++group) {
    if (random_.Chance(1, 3)) continue;
    endpoint.node->Attach(*endpoint.qp, group);
    endpoint.groups.insert(group);
  }
}

void Unreliable::JoinOrLeave() {
  UnreliableEndpoint& endpoint = *endpoints_[random_.Below(endpoints_.size())];
  if (endpoint.is_connected() || !random_.Chance(swarm_.group_changes, 1000)) return;
  const auto group = static_cast<uint32_t>(random_.Below(swarm_.groups));
  members_are_first_ = false;
  // Attaching twice has no further effect.
  const bool attaches = endpoint.groups.insert(group).second || random_.Chance(1, 8);
  if (attaches) return endpoint.node->Attach(*endpoint.qp, group);
  endpoint.groups.erase(group);
  endpoint.node->Detach(*endpoint.qp, group);
  ++departures_;
}

std::optional<uint32_t> Unreliable::SomeGroup() {
  if (swarm_.groups == 0 || random_.Chance(1, 3)) return std::nullopt;
  return static_cast<uint32_t>(random_.Below(swarm_.groups));
}

void Unreliable::AddGroupLetter(const UnreliableEndpoint& from, uint32_t group,
                                const Draft& draft) {
  group_letters_.push_back({from.number, Network::GroupAt(group), MakeLetter(draft)});
}

// Each member on this endnode must get it once for each arrival, and no other queue pair may. A
// corrupted datagram must not be delivered. A member that leaves before its pages are present may
// get it.
void Unreliable::OnGroupDatagram(const Event& arrival, const wire::Packet& packet) {
  const auto deth = packet.Get<wire::Deth>();
  if (arrival.is_corrupted || !deth) return;
  std::optional<uint32_t> immediate;
  if (const auto data = packet.Get<wire::ImmDt>()) immediate = data->data;
  const auto is_sent = [&](const GroupLetter& known) {
    return known.from == deth->source_qp && known.group == arrival.group &&
           known.letter.immediate == immediate &&
           std::ranges::equal(known.letter.bytes, packet.payload());
  };
  // Two datagrams of one sender may be equal: takes the first that this endnode has not got yet.
  auto sent = std::ranges::find_if(group_letters_, [&](const GroupLetter& known) {
    return is_sent(known) && !known.nodes.contains(arrival.to);
  });
  if (sent == group_letters_.end()) sent = std::ranges::find_if(group_letters_, is_sent);
  if (sent == group_letters_.end()) return;
  sent->nodes.insert(arrival.to);
  for (const auto& endpoint : endpoints_) {
    const bool is_member = endpoint->node->number == arrival.to &&
                           std::ranges::any_of(endpoint->groups, [&](uint32_t group) {
                             return Network::GroupAt(group) == arrival.group;
                           });
    if (!is_member || endpoint->state() == QpState::kErr) continue;
    endpoint->group_messages
        .try_emplace({sent->from.value(), sent->group.value()}, MessagesOracle::Promise::kOnce)
        .first->second.Sent(sent->letter);
  }
}

// If the network loses nothing, every endnode with a member has got every datagram.
void Unreliable::CheckGroupLetters() {
  if (!nothing_is_lost() || !members_are_first_ || swarm_.unmapping > 0) return;
  for (const GroupLetter& sent : group_letters_) {
    for (const auto& endpoint : endpoints_) {
      for (const uint32_t group : endpoint->groups) {
        if (Network::GroupAt(group) != sent.group) continue;
        if (sent.nodes.contains(endpoint->node->number)) continue;
        findings_.Add("messages", "a datagram to a group has not reached a process with members");
      }
    }
  }
}

MessagesOracle* Unreliable::OracleFor(UnreliableEndpoint& endpoint, QpNumber source,
                                      Ipv4Address destination) {
  if (destination == Network::AddressOf(swarm_, endpoint.node->number)) {
    const auto found = endpoint.messages.find(source.value());
    return found == endpoint.messages.end() ? nullptr : &found->second;
  }
  const auto found = endpoint.group_messages.find({source.value(), destination.value()});
  if (found == endpoint.group_messages.end()) return nullptr;
  ++group_received_;
  return &found->second;
}

}  // namespace verbena::sim
