#include "ibverbs/stats.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace verbena::ibverbs {
namespace {

// Calls `visit(name, counter of a, counter of b)` for each, so that they are listed once.
template <class Counters, class Other, class Visit>
void ForEach(Counters& a, Other& b, Visit visit) {
  visit("packets sent", a.port.packets_sent, b.port.packets_sent);
  visit("bytes sent", a.port.bytes_sent, b.port.bytes_sent);
  visit("packets received", a.port.packets_received, b.port.packets_received);
  visit("bytes received", a.port.bytes_received, b.port.bytes_received);
  visit("packets that met no socket", a.port.loopback_packets, b.port.loopback_packets);
  visit("packets whose path was gone", a.port.paths_gone, b.port.paths_gone);
  visit("requests for pages", a.port.page_requests, b.port.page_requests);
  visit("pages refused", a.port.pages_refused, b.port.pages_refused);
  visit("payloads gone before they were sent", a.port.copies_failed, b.port.copies_failed);
  for (size_t i = 0; i < kDrops; ++i) {
    visit(NameOf(static_cast<Drop>(i)), a.port.dropped[i], b.port.dropped[i]);
  }
  visit("send calls", a.sockets.send_calls, b.sockets.send_calls);
  visit("send calls that found no room", a.sockets.send_blocked, b.sockets.send_blocked);
  for (size_t i = 0; i < kSendDrops; ++i) {
    visit(NameOf(static_cast<SendDrop>(i)), a.sockets.send_dropped[i], b.sockets.send_dropped[i]);
  }
  visit("receive calls", a.sockets.receive_calls, b.sockets.receive_calls);
  visit("malformed datagrams", a.sockets.malformed, b.sockets.malformed);
  visit("dropped by the kernel", a.sockets.kernel_drops, b.sockets.kernel_drops);
  visit("regions under the memory budget", a.budget.regions_adopted, b.budget.regions_adopted);
  visit("bytes of these", a.budget.bytes_adopted, b.budget.bytes_adopted);
  visit("regions not under it", a.budget.regions_native, b.budget.regions_native);
  visit("most bytes in memory under it", a.budget.resident_peak, b.budget.resident_peak);
  visit("accesses of the program that waited", a.budget.program_faults, b.budget.program_faults);
  visit("pages read from swap", a.budget.pages_read, b.budget.pages_read);
  visit("pages written to swap", a.budget.pages_written, b.budget.pages_written);
  visit("pages lost in swap", a.budget.pages_lost, b.budget.pages_lost);
  visit("wake-ups of the keeper", a.keeper_wake_ups, b.keeper_wake_ups);
  visit("asynchronous events lost", a.events_lost, b.events_lost);
}

}  // namespace

void Add(DeviceCounters& sum, const DeviceCounters& counters) {
  // The contexts that had the budget had it one after the other.
  const uint64_t peak = std::max(sum.budget.resident_peak, counters.budget.resident_peak);
  ForEach(sum, counters, [](std::string_view, uint64_t& to, uint64_t from) { to += from; });
  sum.budget.resident_peak = peak;
}

std::string InWords(const DeviceCounters& counters) {
  std::string text;
  ForEach(counters, counters, [&](std::string_view name, uint64_t value, uint64_t) {
    if (value != 0) text.append(name).append(": ").append(std::to_string(value)).append("\n");
  });
  return text;
}

}  // namespace verbena::ibverbs
