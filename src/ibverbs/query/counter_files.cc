#include "ibverbs/query/counter_files.h"

#include <numeric>

namespace verbena::ibverbs {

std::vector<CounterFile> PortCounterFiles(const DeviceCounters& counters) {
  constexpr uint64_t kWord = 4;  // data is counted in words of four bytes (IBA 16.1.3.5)
  const PortCounters& port = counters.port;
  const auto& refused = counters.sockets.send_dropped;
  return {{"port_xmit_data", port.bytes_sent / kWord},
          {"port_rcv_data", port.bytes_received / kWord},
          {"port_xmit_packets", port.packets_sent},
          {"port_rcv_packets", port.packets_received},
          {"port_xmit_discards", std::reduce(refused.begin(), refused.end())},
          {"port_rcv_errors", counters.sockets.malformed + port.dropped_for(Drop::kMalformed) +
                                  port.dropped_for(Drop::kBadIcrc)}};
}

std::vector<CounterFile> HardwareCounterFiles(const DeviceCounters& counters) {
  const PortCounters& port = counters.port;
  return {{"sent_pkts", port.packets_sent},
          {"rcvd_pkts", port.packets_received},
          {"loopback_pkts", port.loopback_packets},
          {"icrc_errors", port.dropped_for(Drop::kBadIcrc)},
          {"unknown_qp", port.dropped_for(Drop::kNoSuchQp)},
          {"wrong_peer", port.dropped_for(Drop::kWrongPeer)},
          {"page_requests", port.page_requests},
          {"pages_refused", port.pages_refused},
          {"send_blocked", counters.sockets.send_blocked},
          {"rx_buffer_overflows", counters.sockets.kernel_drops}};
}

}  // namespace verbena::ibverbs
