#include "wire/mad/cm_reject_reason.h"

#include <array>
#include <cstddef>

namespace verbena::wire {
namespace {

constexpr auto kNames = std::to_array<const char*>({
    "reserved",
    "no QP available",
    "no EE context available",
    "no resources",
    "timeout",
    "unsupported request",
    "invalid communication id",
    "invalid communication instance",
    "invalid service id",
    "invalid transport service type",
    "stale connection",
    "RDC does not exist",
    "primary remote port GID",
    "primary remote port LID",
    "primary SL",
    "primary traffic class",
    "primary hop limit",
    "primary packet rate",
    "alternate remote port GID",
    "alternate remote port LID",
    "alternate SL",
    "alternate traffic class",
    "alternate hop limit",
    "alternate packet rate",
    "port and CM redirection",
    "port redirection",
    "invalid path MTU",
    "insufficient responder resources",
    "consumer reject",
    "invalid RNR retry count",
    "duplicate local communication id",
    "invalid class version",
    "primary flow label",
    "alternate flow label",
});

}  // namespace

const char* NameOf(CmRejectReason reason) {
  const auto number = static_cast<std::size_t>(reason);
  return number < kNames.size() ? kNames[number] : "reserved";
}

}  // namespace verbena::wire
