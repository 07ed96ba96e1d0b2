#include "verbena/counters.h"

#include "base/check.h"

namespace verbena {

const char* NameOf(Drop drop) {
  switch (drop) {
    case Drop::kMalformed:
      return "malformed";
    case Drop::kBadIcrc:
      return "bad ICRC";
    case Drop::kNoSuchQp:
      return "no such queue pair";
    case Drop::kWrongPeer:
      return "wrong peer";
    case Drop::kWrongPort:
      return "wrong source port";
    case Drop::kWrongPKey:
      return "wrong P_Key";
    case Drop::kWrongService:
      return "wrong service";
    case Drop::kNoMember:
      return "no member of the multicast group";
  }
  UNREACHABLE();
}

}  // namespace verbena
