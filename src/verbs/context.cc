#include "verbena/context.h"

#include <algorithm>
#include <bit>

#include "base/variables.h"
#include "verbs/adapter_table.h"
#include "verbs/convert.h"
#include "verbs/counters.h"
#include "verbs/environment.h"
#include "verbs/objects.h"
#include "verbs/thrown.h"

namespace verbena {
namespace {

ErrorOr<void> CheckPorts(const Options& options) {
  if (options.endpoints_max == 0 || options.endpoints_max > fabric::kEndpointsMax ||
      options.multicast_endpoints == 0) {
    return Fail(
        verbs::Invalid("endpoints_max must be 1 to 4096, and multicast_endpoints at least 1"));
  }
  const uint32_t last = options.endpoint_base_port + options.endpoints_max - 1;
  const bool is_among = options.base_port > options.endpoint_base_port && options.base_port <= last;
  if (options.base_port == 0 || last > UINT16_MAX || is_among) {
    return Fail(verbs::Invalid(
        "base_port must be at least 1, endpoint_base_port + endpoints_max at most 65536, and "
        "base_port not one of the ports after endpoint_base_port"));
  }
  return {};
}

// Checks the options that the adapter does not check.
ErrorOr<void> Check(const Options& options) {
  if (options.sges_max > kSgesMax) {
    return Fail(verbs::Invalid("sges_max must be at most " + std::to_string(kSgesMax)));
  }
  if (!std::has_single_bit(options.loopback_packets)) {
    return Fail(verbs::Invalid("loopback_packets must be a power of two"));
  }
  if (options.outbox_packets == 0 || options.runs_per_pass == 0 || options.pager_threads == 0 ||
      options.page_batch_max == 0 || options.events_max == 0 || options.contexts_max == 0) {
    return Fail(
        verbs::Invalid("outbox_packets, runs_per_pass, pager_threads, page_batch_max, "
                       "events_max and contexts_max must be at least 1"));
  }
  if (!options.guest.empty() && options.memory_budget > 0) {
    return Fail(
        verbs::Invalid("guest and memory_budget exclude each other: the broker sets the budget "
                       "of a guest"));
  }
  return CheckPorts(options);
}

GidEntry EntryOf(const fabric::LocalAddress& address) {
  return {.gid = {address.ip.bytes},
          .interface_name = address.interface_name,
          .interface_index = address.interface_index,
          .mtu = address.mtu,
          .up = address.up,
          .loopback = address.loopback};
}

}  // namespace

ErrorOr<Context> Context::Open(const Options& options) try {
  verbs::ApplyEnvironment();
  Options with = options;
  if (with.trace.empty()) with.trace = TraceVariable();
  if (const auto ok = Check(with); !ok) return Fail(ok.error());
  const auto table = verbs::AdapterTable::OfProcess();
  if (!table) return Fail(table.error());
  auto device = (*table)->Open(with);
  if (!device) return Fail(device.error());
  auto context = std::make_shared<verbs::ContextObject>(std::move(*device), with);
  const auto events = context->device->CreateEventQueue();
  if (!events) return Fail(events.error());
  context->events = *events;
  return Context(std::make_shared<verbs::OpenContext>(std::move(context)));
} catch (...) {
  return Fail(verbs::Thrown());
}

const Options& Context::options() const {
  static const Options none;
  return object() ? object()->context->options : none;
}
uint16_t Context::endpoint() const {
  return object() ? object()->context->device->endpoint().value() : uint16_t{};
}
uint16_t Context::port() const { return object() ? object()->context->device->port() : uint16_t{}; }

ErrorOr<std::vector<GidEntry>> Context::Gids() try {
  const auto addresses = adapter::Adapter::LocalAddresses();
  if (!addresses) return Fail(addresses.error());
  std::vector<GidEntry> entries;
  for (const fabric::LocalAddress& address : *addresses) entries.push_back(EntryOf(address));
  return entries;
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<PathMtu> Context::LargestMtu(const AddressVector& way) try {
  return adapter::Adapter::LargestMtu(way);
} catch (...) {
  return Fail(verbs::Thrown());
}

PathMtu Context::LargestMtu(const GidEntry& entry) {
  return adapter::LargestMtuFor(entry.mtu, entry.gid);
}

ErrorOr<DeviceCounters> Context::Query() const try {
  if (!object()) return Fail(verbs::Empty("context"));
  const auto report = object()->context->device->Query();
  if (!report) return Fail(report.error());
  return verbs::CountersOf(*report);
} catch (...) {
  return Fail(verbs::Thrown());
}

DeviceCounters Context::QueryProcess() try {
  const auto table = verbs::AdapterTable::OfProcess();
  return table ? (*table)->Query() : DeviceCounters{};
} catch (...) {
  return {};  // out of memory
}

std::vector<std::string> Context::TakeWarnings() const try {
  return object() ? object()->context->device->TakeWarnings() : std::vector<std::string>();
} catch (...) {
  return {};  // out of memory
}

void Context::Flush() const try {
  if (object()) object()->context->device->Flush();
} catch (...) {  // out of memory: what is left is lost
}

int Context::events_fd() const { return object() ? object()->context->events->fd() : -1; }

std::optional<AsyncEvent> Context::WaitEvent() const {
  if (!object() || object()->context->device->is_forked()) return std::nullopt;
  const auto event = object()->context->events->Wait();
  if (!event) return std::nullopt;
  return AsyncEvent{.type = event->type,
                    .qp = event->qp,
                    .cq = verbs::IdOf(event->cq),
                    .srq = verbs::IdOf(event->srq)};
}

}  // namespace verbena
