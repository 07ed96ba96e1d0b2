#include "memory/access.h"

namespace verbena::memory {

const char* NameOf(Access access) {
  switch (access) {
    case Access::kLocalRead:
      return "local read";
    case Access::kLocalWrite:
      return "local write";
    case Access::kBind:
      return "bind";
    case Access::kRemoteRead:
      return "remote read";
    case Access::kRemoteWrite:
      return "remote write";
    case Access::kRemoteAtomic:
      return "remote atomic";
    case Access::kTaskSend:
      return "iSCSI R2T";
    case Access::kTaskReceive:
      return "iSCSI Data-In";
  }
  return "?";
}

std::string ToString(Rights rights) {
  static constexpr struct {
    Rights right;
    const char* name;
  } kNames[] = {
      {Rights::kLocalRead, "local read"},       {Rights::kLocalWrite, "local write"},
      {Rights::kRemoteRead, "remote read"},     {Rights::kRemoteWrite, "remote write"},
      {Rights::kRemoteAtomic, "remote atomic"}, {Rights::kWindowBind, "window bind"},
  };
  std::string text;
  for (const auto& [right, name] : kNames) {
    if (!rights.Has(right)) continue;
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text.empty() ? "none" : text;
}

}  // namespace verbena::memory
