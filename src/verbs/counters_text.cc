#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "verbena/counters.h"

namespace verbena {
namespace {

// In the order of docs/memory.md.
constexpr std::array<const char*, kChecks> kCheckNames = {
    "validity", "type",          "protection domain or queue pair", "key variant", "bounds",
    "right",    "window binding"};

// Visits one counter per check, as "requests of peers refused by check b (type)".
template <class Visit>
void VisitChecks(std::string_view whose, std::span<const uint64_t> counts, Visit visit) {
  for (size_t i = 0; i < counts.size(); ++i) {
    const char letter = static_cast<char>(kFirstCheck + i);
    visit(std::string(whose) + " refused by check " + letter + " (" + kCheckNames[i] + ")",
          counts[i]);
  }
}

// Calls `visit(name, counter)` for each counter.
template <class Visit>
void ForEach(const DeviceCounters& of, Visit visit) {
  visit("packets sent", of.port.packets_sent);
  visit("bytes sent", of.port.bytes_sent);
  visit("packets received", of.port.packets_received);
  visit("bytes received", of.port.bytes_received);
  visit("loopback packets", of.port.loopback_packets);
  visit("packets whose address handle was destroyed", of.port.paths_gone);
  visit("paths that lose segmented datagrams", of.port.paths_single);
  visit("page requests", of.port.page_requests);
  visit("page requests refused", of.port.pages_refused);
  visit("pages invalidated", of.port.pages_invalidated);
  visit("payload copies failed", of.port.copies_failed);
  for (size_t i = 0; i < kDrops; ++i) {
    visit(NameOf(static_cast<Drop>(i)), of.port.dropped[i]);
  }
  VisitChecks("own work requests", of.port.refusals.local, visit);
  VisitChecks("requests of peers", of.port.refusals.remote, visit);
  visit("send calls", of.sockets.send_calls);
  visit("send calls that would block", of.sockets.send_blocked);
  for (size_t i = 0; i < kSendDrops; ++i) {
    visit(NameOf(static_cast<SendDrop>(i)), of.sockets.send_dropped[i]);
  }
  visit("receive calls", of.sockets.receive_calls);
  visit("malformed datagrams", of.sockets.malformed);
  visit("dropped by the kernel", of.sockets.kernel_drops);
  visit("connection requests sent", of.cm.requests_sent);
  visit("connection requests received", of.cm.requests_received);
  visit("connections established", of.cm.established);
  visit("connections rejected", of.cm.rejected);
  visit("connections rejected by peers", of.cm.rejected_by_peers);
  visit("connections to unreachable peers", of.cm.unreachable);
  visit("connections disconnected", of.cm.disconnected);
  visit("connection requests refused: no listener", of.cm.refused_no_listener);
  visit("connection requests refused: backlog or table full", of.cm.refused_full);
  visit("connection requests refused: stale connection", of.cm.refused_stale);
  visit("peers of iWARP that sent no request in time", of.cm.handshake_timeouts);
  visit("connections of iWARP postponed: no file descriptor", of.cm.accepts_postponed);
  visit("requests by iSCSI streams", of.cm.iscsi_streams);
  visit("requests by plain streams", of.cm.plain_streams);
  visit("RDMA streams refused: not served", of.cm.refused_rdma);
  visit("iSCSI streams refused: not served", of.cm.refused_iscsi);
  visit("plain streams refused: not served", of.cm.refused_plain);
  visit("retransmissions of the connection manager", of.cm.retransmissions);
  visit("malformed management datagrams", of.cm.malformed);
  visit("management datagrams received", of.cm.mads_received);
  visit("management datagrams forwarded", of.cm.mads_forwarded);
  visit("regions under the memory budget", of.budget.regions_taken_over);
  visit("bytes under the memory budget", of.budget.bytes_taken_over);
  visit("regions not under the memory budget", of.budget.regions_native);
  visit("peak resident bytes under the memory budget", of.budget.resident_peak);
  visit("page faults of the program under the memory budget", of.budget.program_faults);
  visit("page faults of the first stage", of.budget.first_stage_faults);
  visit("of these, pages that were in memory", of.budget.first_stage_present);
  visit("page faults of the second stage", of.budget.second_stage_faults);
  visit("pages read from swap", of.budget.pages_read);
  visit("pages written to swap", of.budget.pages_written);
  visit("pages lost in swap", of.budget.pages_lost);
  visit("wake-ups of the progress thread", of.progress_thread_wake_ups);
  visit("asynchronous events lost", of.events_lost);
}

}  // namespace

std::string ToString(const DeviceCounters& counters) {
  std::string text;
  ForEach(counters, [&](std::string_view name, uint64_t value) {
    if (value != 0) text.append(name).append(": ").append(std::to_string(value)).append("\n");
  });
  return text;
}

}  // namespace verbena
