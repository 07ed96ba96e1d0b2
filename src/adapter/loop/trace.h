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

// Writes every packet of an adapter to a file that Wireshark opens. Packets are collected and
// written together at the end of each pass of the engine, so the file is complete between two
// passes: also after _exit, after a kill, and in a forked child, which writes nothing.
//
// Several traces can write to one file, from one process or from many: each begins a section of its
// own, and each write appends whole blocks. So an existing file is extended, not replaced. Which
// files are allowed: base/own_file.h.
//
// A trace that can no longer be written ends with one warning; the adapter continues.
//
// Owned by the adapter; under the engine's lock.
class Trace {
 public:
  using OnWarning = std::function<void(const std::string& warning)>;

  // `on_urgent_warning` is called with the reason if the trace ends; without it, TakeWarnings
  // returns the reason.
  [[nodiscard]] static ErrorOr<std::unique_ptr<Trace>> Open(const std::string& path,
                                                            OnWarning on_urgent_warning = {});
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  ~Trace() { Flush(); }

  // Records a packet that was sent.
  void OnSent(const wire::UdpFlow& flow, const wire::IpFields& ip,
              std::span<const std::byte> packet) {
    Write(flow, ip, packet);
  }
  // Records a packet that arrived at `port`, before it is checked.
  void OnReceived(const fabric::ReceivedDatagram& datagram, uint16_t port);

  void Flush();

  // Why the trace ended, if it did. Returned once.
  [[nodiscard]] std::vector<std::string> TakeWarnings();

 private:
  Trace(std::string path, fabric::FileDescriptor file, OnWarning on_urgent_warning);

  void Write(const wire::UdpFlow& flow, const wire::IpFields& ip,
             std::span<const std::byte> packet);
  [[nodiscard]] int WhyShort() const;
  void End(int error);

  const std::string path_;
  const OnWarning on_urgent_warning_;
  fabric::FileDescriptor file_;  // closed after a failed write
  std::vector<std::byte> pending_;
  const Duration since_epoch_;  // wall-clock time of the clock's origin
  wire::PcapngWriter writer_;
  FlowCache flows_;
  std::vector<std::string> warnings_;
};

}  // namespace verbena::adapter
