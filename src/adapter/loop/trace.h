#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "adapter/error.h"
#include "adapter/loop/flow_cache.h"
#include "base/time.h"
#include "fabric/datagram.h"
#include "fabric/file_descriptor.h"
#include "wire/pcap.h"
#include "wire/udp_flow.h"

namespace verbena::adapter {

// Every packet of an adapter in a file that Wireshark opens. Packets are collected and written
// whole at the end of each step of the engine, so the file is complete whenever no step is under
// way: at an exit without a word, after a kill, and in a child of this process, which writes
// nothing.
//
// Several may write to one file, of one process or of many: each begins a section of its own, and
// what it writes at a time is appended in one piece. So an old file is added to, not replaced. What
// file may be named: base/own_file.h.
//
// A trace that cannot be written any more ends, and its user hears of it once; the adapter goes on.
//
// Owned by the adapter; under the engine's lock.
class Trace {
 public:
  using OnWarning = std::function<void(const std::string& warning)>;

  // `on_urgent_warning` is called with the reason if it ends; without it, the reason is a warning
  // to be taken.
  [[nodiscard]] static ErrorOr<std::unique_ptr<Trace>> Open(const std::string& path,
                                                            OnWarning on_urgent_warning = {});
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  ~Trace() { Flush(); }

  // A packet that was sent.
  void OnSent(const wire::UdpFlow& flow, const wire::IpFields& ip,
              std::span<const std::byte> packet) {
    Write(flow, ip, packet);
  }
  // A packet that came to `port`, whatever will become of it.
  void OnReceived(const fabric::ReceivedDatagram& datagram, uint16_t port);

  void Flush();

  // Why it ended, if it did. Returned once.
  [[nodiscard]] std::vector<std::string> TakeWarnings();

 private:
  Trace(std::string path, fabric::FileDescriptor file, OnWarning on_urgent_warning);

  void Write(const wire::UdpFlow& flow, const wire::IpFields& ip,
             std::span<const std::byte> packet);
  [[nodiscard]] int WhyShort() const;
  void End(int error);

  const std::string path_;
  const OnWarning on_urgent_warning_;
  fabric::FileDescriptor file_;  // closed when it could not be written to
  std::vector<std::byte> pending_;
  const Duration since_epoch_;  // of the clock's origin
  wire::PcapngWriter writer_;
  FlowCache flows_;
  std::vector<std::string> warnings_;
};

}  // namespace verbena::adapter
