#include "verbs/counters.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>

namespace verbena::verbs {
namespace {

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

DeviceCounters CountersOf(const adapter::AdapterReport& report) {
  return {.port = report.port,
          .sockets = CountersOf(report.sent, report.received),
          .budget = report.budget,
          .cm = report.cm,
          .progress_thread_wake_ups = report.progress_thread_wake_ups,
          .events_lost = report.events_lost};
}

void Add(DeviceCounters& sum, const DeviceCounters& counters) {
  // Every counter is a word, so this adds all of them.
  using Words = std::array<uint64_t, sizeof(DeviceCounters) / sizeof(uint64_t)>;
  Words words = std::bit_cast<Words>(sum);
  const auto more = std::bit_cast<Words>(counters);
  std::ranges::transform(words, more, words.begin(), std::plus());
  // The exception is a maximum: only one adapter at a time has the memory budget.
  const uint64_t peak = std::max(sum.budget.resident_peak, counters.budget.resident_peak);
  sum = std::bit_cast<DeviceCounters>(words);
  sum.budget.resident_peak = peak;
}

}  // namespace verbena::verbs
