#include "ibverbs/objects/address_vector.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ibverbs/failure.h"
#include "ibverbs/query/lid.h"

namespace verbena::ibverbs {
namespace {

bool IsLinkLocal(const Gid& gid) { return gid.bytes[0] == 0xFE && (gid.bytes[1] & 0xC0) == 0x80; }

ErrorOr<AddressVector> ByGid(const GidTable::Entries& entries, const ibv_global_route& route) {
  if (route.sgid_index >= entries.size() || !entries[route.sgid_index]) {
    return Fail(Invalid("there is no GID " + std::to_string(route.sgid_index) + " to send from"));
  }
  const GidEntry& source = *entries[route.sgid_index];
  const Gid destination = FromVerbs(route.dgid);
  const bool local = IsLinkLocal(source.gid) || IsLinkLocal(destination);
  return AddressVector{.source = source.gid,
                       .destination = destination,
                       .interface = local ? source.interface_index : 0,
                       .traffic_class = route.traffic_class,
                       .hop_limit = route.hop_limit};
}

ErrorOr<AddressVector> ByLid(const GidTable::Entries& entries, uint16_t lid) {
  const auto own = LidOwner(GidTable::Present(entries));
  if (!own) return Fail(Invalid("LIDs need an IPv4 address, and this port has none"));
  if (lid == 0) return Fail(Invalid("LID 0 is reserved: give the destination's LID, or a GRH"));
  return AddressVector{.source = own->gid, .destination = GidOfLid(lid, own->gid)};
}

}  // namespace

ErrorOr<AddressVector> AddressVectorOf(Context& context, const ibv_ah_attr& attributes) {
  if (attributes.port_num != 1) return Fail(Invalid("the port number must be 1"));
  const auto entries = context.gids.Read();
  if (!entries) return Fail(entries.error());
  if (attributes.is_global != 0) return ByGid(*entries, attributes.grh);
  // On RoCE a GID is the only address. (IBA A16.4.5)
  if (context.settings.link_layer == LinkLayer::kRoce)
    return Fail(Invalid("RoCE addresses need a GID: set is_global and grh"));
  return ByLid(*entries, attributes.dlid);
}

ErrorOr<ibv_ah_attr> AttributesOf(Context& context, const AddressVector& path) {
  ibv_ah_attr attributes{};
  attributes.port_num = 1;
  attributes.is_global = 1;
  attributes.grh.dgid = ToVerbs(path.destination);
  attributes.grh.hop_limit = path.hop_limit;
  attributes.grh.traffic_class = path.traffic_class;
  if (context.settings.link_layer == LinkLayer::kInfiniband)
    attributes.dlid = LidOf(path.destination);
  const auto entries = context.gids.Read();
  if (!entries) return Fail(entries.error());
  const auto source = std::ranges::find_if(*entries, [&](const std::optional<GidEntry>& entry) {
    return entry && entry->gid == path.source &&
           (path.interface == 0 || entry->interface_index == path.interface);
  });
  if (source != entries->end()) {
    attributes.grh.sgid_index = static_cast<uint8_t>(source - entries->begin());
  }
  return attributes;
}

ibv_gid ToVerbs(const Gid& gid) {
  ibv_gid verbs{};
  std::ranges::copy(gid.bytes, verbs.raw);
  return verbs;
}

Gid FromVerbs(const ibv_gid& gid) {
  Gid own;
  std::ranges::copy(gid.raw, own.bytes.begin());
  return own;
}

}  // namespace verbena::ibverbs
