#include "verbena/connection_manager.h"

#include "verbs/cm_objects.h"
#include "verbs/convert.h"
#include "verbs/thrown.h"

namespace verbena {

// --- CmChannel. ---

ErrorOr<CmChannel> CmChannel::Create() try {
  auto file = EventFile::Open(true);
  if (!file) return Fail(file.error());
  return CmChannel(std::make_shared<verbs::CmChannelObject>(std::move(*file)));
} catch (...) {
  return Fail(verbs::Thrown());
}

int CmChannel::fd() const { return object() ? object()->queue.fd() : -1; }

std::optional<CmEvent> CmChannel::Wait() const {
  if (!object()) return std::nullopt;
  const std::shared_ptr<adapter::Adapter> device = object()->device();
  if (device == nullptr) return object()->queue.Wait();
  if (device->is_forked()) return std::nullopt;
  return device->Wait(object()->queue);
}

ErrorOr<void> CmChannel::Post(void* user, uint16_t reason) const try {
  if (!object()) return Fail(verbs::Empty("channel"));
  CmEvent event;
  event.type = CmEventType::kPosted;
  event.user = user;
  event.reason = reason;
  object()->queue.Post(event);
  return {};
} catch (...) {
  return Fail(verbs::Thrown());
}

void CmChannel::Withdraw(void* user) const {
  if (object()) object()->queue.Withdraw(user);
}

// --- CmId. ---

ErrorOr<CmId> CmId::Create(const Context& context, const CmChannel& channel, PortSpace space,
                           void* user) try {
  if (!context) return Fail(verbs::Empty("context"));
  if (!channel) return Fail(verbs::Empty("channel"));
  auto object = std::make_shared<verbs::CmIdObject>(context.object()->context, channel.object());
  const auto end = object->device.CreateCmEnd(channel.object()->queue, space, user);
  if (!end) return Fail(end.error());
  object->end = *end;
  return CmId(std::move(object));
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<CmId> CmId::Take(const Context& context, const CmChannel& channel, const CmEvent& request,
                         void* user) try {
  if (!context) return Fail(verbs::Empty("context"));
  if (!channel) return Fail(verbs::Empty("channel"));
  auto object = std::make_shared<verbs::CmIdObject>(context.object()->context, channel.object());
  const auto end = object->device.TakeCmRequest(request, channel.object()->queue, user);
  if (!end) return Fail(end.error());
  object->end = *end;
  return CmId(std::move(object));
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> CmId::Bind(const CmAddress& address, const CmBindOptions& options) try {
  if (!object()) return Fail(verbs::Empty("id"));
  return object()->device.Bind(*object()->end, address, options.reuse_address,
                               options.own_family_only);
} catch (...) {
  return Fail(verbs::Thrown());
}

CmAddress CmId::local() const try {
  if (!object()) return {};
  const auto address = object()->device.LocalAddressOf(*object()->end);
  return address ? *address : CmAddress{};
} catch (...) {
  return {};
}

ErrorOr<void> CmId::Listen(uint32_t backlog, const CmListenOptions& options) try {
  if (!object()) return Fail(verbs::Empty("id"));
  return object()->device.Listen(*object()->end, backlog,
                                 {.rdma = options.rdma,
                                  .iscsi = options.iscsi,
                                  .plain = options.plain,
                                  .silence = Duration(options.silence.count())});
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> CmId::Connect(const IpAddress& from, const CmAddress& to,
                            const ConnectionParameters& parameters) try {
  if (!object()) return Fail(verbs::Empty("id"));
  return object()->device.Connect(*object()->end, from, to, parameters);
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> CmId::Accept(const ConnectionParameters& parameters) try {
  if (!object()) return Fail(verbs::Empty("id"));
  return object()->device.Accept(*object()->end, parameters);
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> CmId::Reject(const CmPrivateData& data, uint16_t reason) try {
  if (!object()) return Fail(verbs::Empty("id"));
  return object()->device.Reject(*object()->end, data, reason);
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> CmId::Establish() try {
  if (!object()) return Fail(verbs::Empty("id"));
  return object()->device.Establish(*object()->end);
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> CmId::NotifyEstablished() try {
  if (!object()) return Fail(verbs::Empty("id"));
  return object()->device.NotifyEstablished(*object()->end);
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> CmId::Disconnect(const CmPrivateData& data) try {
  if (!object()) return Fail(verbs::Empty("id"));
  return object()->device.Disconnect(*object()->end, data);
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<void> CmId::Migrate(const CmChannel& channel) try {
  if (!object()) return Fail(verbs::Empty("id"));
  if (!channel) return Fail(verbs::Empty("channel"));
  auto migrated = object()->device.Migrate(*object()->end, channel.object()->queue);
  if (migrated) object()->MoveTo(channel.object());
  return migrated;
} catch (...) {
  return Fail(verbs::Thrown());
}

void CmId::set_user(void* user) {
  if (object()) object()->end->user = user;
}

ErrorOr<IpAddress> SourceAddressFor(const CmAddress& destination) try {
  return adapter::Adapter::SourceFor(destination);
} catch (...) {
  return Fail(verbs::Thrown());
}

}  // namespace verbena
