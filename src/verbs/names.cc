// References the API functions that inner layers define. The linker takes only referenced objects
// from the archives of those layers.

#include "verbena/async_event.h"
#include "verbena/completion.h"
#include "verbena/counters.h"
#include "verbena/error.h"
#include "verbena/ip_address.h"
#include "verbena/qp_state.h"

namespace verbena {
namespace {

template <class Value>
using Name = const char* (*)(Value);

struct Exported {
  Name<AsyncEventType> async_event = NameOf;
  Name<CompletionStatus> status = NameOf;
  Name<CompletionOpcode> opcode = NameOf;
  Name<Drop> drop = NameOf;
  Name<SendDrop> send_drop = NameOf;
  Name<ErrorCode> error = NameOf;
  Name<QpState> state = NameOf;
  Name<QpType> type = NameOf;
  std::optional<IpAddress> (*parse)(std::string_view) = ParseIpAddress;
  std::string (*address)(const IpAddress&) = ToString;
};

[[gnu::used]] const Exported kExported;

}  // namespace
}  // namespace verbena
