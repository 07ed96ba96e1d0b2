// Address handles.

#include <infiniband/verbs.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "base/result.h"
#include "ibverbs/failure.h"
#include "ibverbs/objects/address_vector.h"
#include "ibverbs/objects/control_ops.h"
#include "ibverbs/objects/objects.h"
#include "ibverbs/query/grh.h"

namespace verbena::ibverbs {
namespace {

// The index of the source GID for an answer: the GID that the datagram was sent to or, if that was
// a multicast group, our first GID of the same IP version.
ErrorOr<uint8_t> AnswerFrom(Context& context, const Gid& destination) {
  const auto entries = context.gids.Read();
  if (!entries) return Fail(entries.error());
  std::optional<size_t> kin;
  for (size_t i = 0; i < entries->size(); ++i) {
    if (!(*entries)[i]) continue;
    const Gid& own = (*entries)[i]->gid;
    if (own == destination) return static_cast<uint8_t>(i);
    if (!kin && own.is_ipv4() == destination.is_ipv4()) kin = i;
  }
  if (!kin) return Fail(Invalid("this port has no address of the IP version of the datagram"));
  return static_cast<uint8_t>(*kin);
}

// The address of the sender of a datagram, from its completion and its GRH.
ErrorOr<ibv_ah_attr> AnswerTo(Context& context, uint8_t port, const ibv_wc& wc,
                              const ibv_grh* grh) {
  constexpr uint8_t kHopLimit = 0xFF;
  ibv_ah_attr attributes{};
  attributes.dlid = wc.slid;
  attributes.sl = wc.sl;
  attributes.src_path_bits = wc.dlid_path_bits;
  attributes.port_num = port;
  if ((wc.wc_flags & IBV_WC_GRH) == 0) return attributes;
  if (grh == nullptr)
    return Fail(Invalid("the completion has IBV_WC_GRH, but the GRH is a null pointer"));
  const Grh header = Grh::Of(*grh);
  const auto index = AnswerFrom(context, header.destination);
  if (!index) return Fail(index.error());
  attributes.is_global = 1;
  attributes.grh = {.dgid = ToVerbs(header.source),
                    .flow_label = header.flow_label,
                    .sgid_index = *index,
                    .hop_limit = kHopLimit,
                    .traffic_class = header.traffic_class};
  return attributes;
}

// The active MTU as ibv_query_port reports it: programs send datagrams up to this length.
PathMtu ActiveMtu(ibv_context* context) {
  ibv_port_attr port{};
  if (QueryPort(context, 1, &port, sizeof port) != 0) return PathMtu::k4096;
  return static_cast<PathMtu>(port.active_mtu);
}

}  // namespace
}  // namespace verbena::ibverbs

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): the verbs are global

ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attributes) try {
  const auto path = AddressVectorOf(Cast(pd->context), *attributes);
  if (!path) return Null("ibv_create_ah", path.error());
  auto made = verbena::AddressHandle::Create(Cast(pd).domain(), *path, ActiveMtu(pd->context));
  if (!made) return Null("ibv_create_ah", made.error());
  auto ah = std::make_unique<Ah>();
  ah->context = pd->context;
  ah->pd = pd;
  ah->handle = std::move(*made);
  ah->pd_refcount = Refcount(Cast(pd).users);
  return ah.release();
} catch (...) {
  return ThrownNull("ibv_create_ah");
}

int ibv_init_ah_from_wc(ibv_context* context, uint8_t port, ibv_wc* wc, ibv_grh* grh,
                        ibv_ah_attr* attributes) try {
  const auto answer = AnswerTo(Cast(context), port, *wc, grh);
  if (!answer) return Failed("ibv_init_ah_from_wc", answer.error());
  *attributes = *answer;
  return 0;
} catch (...) {
  return Thrown("ibv_init_ah_from_wc");
}

ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, uint8_t port) try {
  auto answer = AnswerTo(Cast(pd->context), port, *wc, grh);
  if (!answer) return Null("ibv_create_ah_from_wc", answer.error());
  return ibv_create_ah(pd, &*answer);
} catch (...) {
  return ThrownNull("ibv_create_ah_from_wc");
}

int ibv_destroy_ah(ibv_ah* ah) try {
  Ah& own = Cast(ah);
  if (const auto ok = own.handle.Destroy(); !ok) return Failed("ibv_destroy_ah", ok.error());
  delete &own;
  return 0;
} catch (...) {
  return Thrown("ibv_destroy_ah");
}

int ibv_resolve_eth_l2_from_gid(ibv_context* /*context*/, ibv_ah_attr* /*attributes*/,
                                uint8_t* /*mac*/, uint16_t* /*vlan*/) {
  // The kernel resolves Ethernet addresses when it sends; they are not known here.
  return Unsupported("ibv_resolve_eth_l2_from_gid");
}
