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

// A device that this process has opened; everything else is made from one. Contexts with equal
// options share a channel adapter, and with it the endpoint, the limits and the counters, unless
// Options::dedicated_adapter says otherwise. Objects of one context are refused by another, and
// each context hears of the asynchronous events of its own objects and of the port.
//
// After a fork the child's copies of all objects are dead: each call says kForked, and to destroy
// them touches nothing of the parent's. A child opens the device anew.
class Context : public Handle<verbs::OpenContext> {
 public:
  [[nodiscard]] static ErrorOr<Context> Open(const Options& options = {});
  Context() = default;

  [[nodiscard]] const Options& options() const;
  // The first endpoint of this process on its machine, and its UDP port. A process that has many
  // queue pairs, or is in multicast groups, may have more.
  [[nodiscard]] uint16_t endpoint() const;
  [[nodiscard]] uint16_t port() const;

  // The addresses of this machine, in the order of their indices.
  [[nodiscard]] static ErrorOr<std::vector<GidEntry>> Gids();
  // The largest MTU of a connection that fits the way, as far as the system knows it.
  [[nodiscard]] static ErrorOr<PathMtu> LargestMtu(const AddressVector& way);
  // The same of an interface, for ways of the kind of its address.
  [[nodiscard]] static PathMtu LargestMtu(const GidEntry& entry);

  // Of the adapter, with all contexts that share it.
  [[nodiscard]] ErrorOr<DeviceCounters> Query() const;
  // Of all adapters that this process has opened, those that were closed included.
  [[nodiscard]] static DeviceCounters QueryProcess();
  // What a person should know about this machine, a line each; told once.
  [[nodiscard]] std::vector<std::string> TakeWarnings() const;

  // Asynchronous events of what was made from this context, and of the port. The file is readable
  // while there are some, and the program may make it non-blocking. WaitEvent waits for one, as the
  // file says: nullopt if none came, or a signal did.
  [[nodiscard]] int events_fd() const;
  [[nodiscard]] std::optional<AsyncEvent> WaitEvent() const;

 private:
  explicit Context(std::shared_ptr<verbs::OpenContext> object) : Handle(std::move(object)) {}
};

}  // namespace verbena
