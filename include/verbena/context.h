#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verbena/async_event.h"
#include "verbena/counters.h"
#include "verbena/error.h"
#include "verbena/gid.h"
#include "verbena/handle.h"
#include "verbena/options.h"

namespace verbena {

namespace verbs {
struct OpenContext;
}

// An open device, from which all other objects are made. Contexts with equal options share a
// channel adapter, and with it the endpoint, the limits and the counters, unless
// Options::dedicated_adapter is set. A context refuses objects of another context, and gets the
// asynchronous events of its own objects and of the port.
//
// After a fork the objects are unusable in the child: calls fail with kForked, and destroying the
// objects affects nothing of the parent. The child has to open the device again.
class Context : public Handle<verbs::OpenContext> {
 public:
  [[nodiscard]] static ErrorOr<Context> Open(const Options& options = {});
  Context() = default;

  [[nodiscard]] const Options& options() const;
  // The first endpoint of the adapter, and its UDP port. An adapter with many queue pairs, or with
  // multicast groups, can have more endpoints.
  [[nodiscard]] uint16_t endpoint() const;
  [[nodiscard]] uint16_t port() const;

  // The addresses of this machine, in the order of their indices.
  [[nodiscard]] static ErrorOr<std::vector<GidEntry>> Gids();
  // The largest MTU of a connection that fits the path, as far as the system knows the path.
  [[nodiscard]] static ErrorOr<PathMtu> LargestMtu(const AddressVector& way);
  // The same for an interface and the IP version of its address.
  [[nodiscard]] static PathMtu LargestMtu(const GidEntry& entry);

  // The counters of the adapter, for all contexts that share it.
  [[nodiscard]] ErrorOr<DeviceCounters> Query() const;
  // The counters of all adapters that this process has opened, closed ones included.
  [[nodiscard]] static DeviceCounters QueryProcess();
  // Warnings for the user, one line each: that the kernel grants smaller UDP buffers, for example.
  // Each is returned once.
  [[nodiscard]] std::vector<std::string> TakeWarnings() const;
  // For a process that is about to end without closing its objects: waits, for two seconds at most,
  // until what streams of iWARP have to send is with the system (TCP) or the peers (SCTP). Ends the
  // streams of SCTP, of all contexts that share the adapter.
  void Flush() const;

  // Asynchronous events of this context's objects and of the port. The file is readable while there
  // are events, and the program may set O_NONBLOCK. WaitEvent takes the oldest event, and waits for
  // one unless the file is non-blocking. nullopt if there is none (EAGAIN), if a signal handler ran
  // (EINTR), or, with errno unchanged, if this is a forked child.
  [[nodiscard]] int events_fd() const;
  [[nodiscard]] std::optional<AsyncEvent> WaitEvent() const;

 private:
  explicit Context(std::shared_ptr<verbs::OpenContext> object) : Handle(std::move(object)) {}
};

}  // namespace verbena
