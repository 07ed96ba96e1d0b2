#include "rdmacm/objects/request.h"

#include <memory>
#include <utility>

#include "base/result.h"
#include "rdmacm/objects/parameters.h"
#include "rdmacm/objects/path.h"
#include "rdmacm/objects/random_psn.h"

namespace verbena::rdmacm {
namespace {

// What the peer serves is what this side may have outstanding, and vice versa.
Agreement AgreementOf(const ConnectionParameters& peer) {
  return {.own_psn = RandomPsn(),
          .peer_psn = peer.psn,
          .peer_qp = peer.qp,
          .responder_resources = peer.initiator_depth,
          .initiator_depth = peer.responder_resources,
          .retry_count = peer.retry_count,
          .rnr_retry_count = peer.rnr_retry_count,
          .ack_timeout = peer.ack_timeout,
          .mtu = peer.mtu};
}

}  // namespace

ErrorOr<void> TakeRequest(Id& listener, const CmEvent& request, ReportedEvent& event) {
  auto made = MakeId(listener.is_synchronous() ? nullptr : listener.channel, listener.context,
                     listener.ps, listener.qp_type);
  if (!made) return Fail(made.error());
  Id& id = **made;
  if (const auto ok = AttachDevice(id); !ok) return ok;
  auto taken = CmId::Take(id.device->handle(), *Cast(id.channel).handle, request, ToUser(id.key));
  if (!taken) return Fail(taken.error());
  id.handle = std::move(*taken);
  id.state = IdState::kConnect;
  ShowLocal(id, request.local);
  ShowRemote(id, request.remote);
  if (!IsDatagram(id)) {
    id.options.type_of_service = request.peer.traffic_class;
    id.agreement = AgreementOf(request.peer);
    id.remote_ece = EceOf(request.peer);
    id.responder_resources = id.agreement->responder_resources;
    id.initiator_depth = id.agreement->initiator_depth;
    if (const auto ok = ShowPath(id, id.agreement->mtu); !ok) return ok;
  }
  event.listen_id = &listener;
  event.id = made->release();
  return {};
}

}  // namespace verbena::rdmacm
