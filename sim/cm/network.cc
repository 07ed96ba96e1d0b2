#include "sim/cm/network.h"

namespace verbena::sim {

void CmNetwork::Send(Time now, uint32_t from, const transport::CmDatagram& datagram) {
  const Mad mad = datagram.mad.ToBytes();
  const uint32_t to = NodeOf(datagram.to.address);
  ++sent_;
  digest_ = (digest_ ^ static_cast<uint64_t>(now.nanoseconds()) ^ from) * 0x9E3779B97F4A7C15;
  for (const std::byte byte : mad) {
    digest_ = (digest_ ^ std::to_integer<uint64_t>(byte)) * 0x100000001B3;
  }
  if (to >= plan_.nodes) return;  // a response to an outsider
  // The ICRC would discard it; a copy arrives from an unknown address.
  if (!is_healed_ && random_.Chance(plan_.mangled, 1000)) {
    Mad mangled = mad;
    Mangle(mangled);
    Deliver(now, to, AddressOf(kOutsider + static_cast<uint32_t>(random_.Below(3))), mangled);
  }
  if (!is_healed_ && random_.Chance(plan_.loss, 1000)) return;
  Deliver(now, to, AddressOf(from), mad);
  if (!is_healed_ && random_.Chance(plan_.doubles, 1000)) Deliver(now, to, AddressOf(from), mad);
}

void CmNetwork::Deliver(Time now, uint32_t to, const IpAddress& from, const Mad& mad) {
  const auto delay = random_.Below(static_cast<uint64_t>(plan_.delay_max.nanoseconds()) + 1);
  At(now + Nanoseconds(static_cast<int64_t>(delay)),
     [this, to, from, mad] { receive_(to, from, mad); });
}

void CmNetwork::Mangle(Mad& mad) {
  for (uint64_t i = random_.Below(6); i > 0; --i) {
    mad[random_.Below(mad.size())] ^= static_cast<std::byte>(1U << random_.Below(8));
  }
}

bool CmNetwork::RunOne(Time now) {
  if (next_time() > now || actions_.empty()) return false;
  const auto action = std::move(actions_.begin()->second);
  actions_.erase(actions_.begin());
  action();
  return true;
}

}  // namespace verbena::sim
