#include "verbena/context.h"

#include <algorithm>
#include <bit>

#include "verbs/convert.h"
#include "verbs/objects.h"
#include "verbs/options.h"

namespace verbena {
namespace {

using verbs::FromAdapter;
using verbs::ToAdapter;

// What the adapter takes on trust.
ErrorOr<void> Check(const Options& options) {
  if (options.sges_max > kSgesMax) {
    return Fail(verbs::Invalid("sges_max is at most " + std::to_string(kSgesMax)));
  }
  if (!std::has_single_bit(options.loopback_packets)) {
    return Fail(verbs::Invalid("loopback_packets is a power of two"));
  }
  if (options.outbox_packets == 0 || options.runs_per_pass == 0 || options.pager_threads == 0 ||
      options.page_batch_max == 0 || options.events_max == 0) {
    return Fail(
        verbs::Invalid("outbox_packets, runs_per_pass, pager_threads, page_batch_max and "
                       "events_max are at least 1"));
  }
  constexpr int kLastSlot = 255;
  if (options.base_port == 0 || options.base_port > UINT16_MAX - kLastSlot) {
    return Fail(
        verbs::Invalid("base_port is from 1 to 65280: 256 processes share the ports "
                       "behind it"));
  }
  return {};
}

GidEntry EntryOf(const fabric::LocalAddress& address) {
  return {.gid = {address.ip.bytes},
          .interface_name = address.interface_name,
          .interface_index = address.interface_index,
          .mtu = address.mtu,
          .up = address.up,
          .loopback = address.loopback};
}

PortCounters CountersOf(const adapter::PortCounters& from) {
  return {.packets_sent = from.packets_sent,
          .bytes_sent = from.bytes_sent,
          .packets_received = from.packets_received,
          .bytes_received = from.bytes_received,
          .loopback_packets = from.loopback_packets,
          .paths_gone = from.paths_gone,
          .page_requests = from.page_requests,
          .pages_refused = from.pages_refused,
          .copies_failed = from.copies_failed,
          .passes = from.passes,
          .dropped = from.dropped};
}

BudgetCounters CountersOf(const adapter::BudgetCounters& counters) {
  return {.regions_adopted = counters.regions_adopted,
          .bytes_adopted = counters.bytes_adopted,
          .regions_native = counters.regions_native,
          .resident_peak = counters.resident_peak,
          .program_faults = counters.program_faults,
          .pages_read = counters.pages_read,
          .pages_written = counters.pages_written,
          .pages_lost = counters.pages_lost};
}

SocketCounters CountersOf(const fabric::TransmitCounters& sent,
                          const fabric::ReceiveCounters& received) {
  return {.datagrams_sent = sent.datagrams,
          .bytes_sent = sent.bytes,
          .messages_sent = sent.messages,
          .send_calls = sent.system_calls,
          .send_blocked = sent.blocked,
          .send_dropped = sent.dropped,
          .datagrams_received = received.datagrams,
          .bytes_received = received.bytes,
          .messages_received = received.messages,
          .receive_calls = received.system_calls,
          .malformed = received.malformed,
          .kernel_drops = received.kernel_drops};
}

}  // namespace

ErrorOr<Context> Context::Open(const Options& options) {
  if (const auto ok = Check(options); !ok) return Fail(ok.error());
  auto device = adapter::Adapter::Open(ToAdapter(options));
  if (!device) return Fail(FromAdapter(device.error()));
  return Context(std::make_shared<verbs::ContextObject>(std::move(*device), options));
}

const Options& Context::options() const {
  static const Options none;
  return object() ? object()->options : none;
}
uint8_t Context::slot() const { return object() ? object()->device->slot() : uint8_t{}; }
uint16_t Context::port() const { return object() ? object()->device->port() : uint16_t{}; }

ErrorOr<std::vector<GidEntry>> Context::Gids() {
  const auto addresses = adapter::Adapter::LocalAddresses();
  if (!addresses) return Fail(FromAdapter(addresses.error()));
  std::vector<GidEntry> entries;
  for (const fabric::LocalAddress& address : *addresses) entries.push_back(EntryOf(address));
  return entries;
}

ErrorOr<PathMtu> Context::LargestMtu(const AddressVector& way) {
  const auto mtu = adapter::Adapter::LargestMtu(ToAdapter(way));
  if (!mtu) return Fail(FromAdapter(mtu.error()));
  return static_cast<PathMtu>(*mtu);
}

PathMtu Context::LargestMtu(const GidEntry& entry) {
  return static_cast<PathMtu>(adapter::LargestMtuFor(entry.mtu, ToAdapter(entry.gid)));
}

ErrorOr<DeviceCounters> Context::Query() const {
  if (!object()) return Fail(verbs::Empty("context"));
  const auto report = object()->device->Query();
  if (!report) return Fail(FromAdapter(report.error()));
  return DeviceCounters{.port = CountersOf(report->port),
                        .sockets = CountersOf(report->sent, report->received),
                        .budget = CountersOf(report->budget),
                        .keeper_wake_ups = report->keeper_wake_ups,
                        .events_lost = report->events_lost};
}

std::vector<std::string> Context::TakeNotes() const {
  return object() ? object()->device->TakeNotes() : std::vector<std::string>();
}

int Context::events_fd() const { return object() ? object()->device->events_fd() : -1; }

std::optional<AsyncEvent> Context::WaitEvent() const {
  if (!object()) return std::nullopt;
  const auto event = object()->device->WaitEvent();
  if (!event) return std::nullopt;
  return AsyncEvent{.type = static_cast<AsyncEventType>(event->type),
                    .qp = QpNumber{event->qp.value()},
                    .cq = verbs::IdOf(event->cq),
                    .srq = verbs::IdOf(event->srq)};
}

}  // namespace verbena
