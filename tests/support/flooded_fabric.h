#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/event_file.h"
#include "fabric/fabric.h"

namespace verbena::adapter {

// A fabric that always has another malformed datagram to receive, and drops all datagrams that are
// sent. The flood ends after a given time, so that a test with a receive loop ends too. One thread
// at a time.
class FloodedFabric final : public fabric::Fabric {
 public:
  FloodedFabric(fabric::EndpointId endpoint, uint16_t port, Duration lasts)
      : Fabric(endpoint, port, batch_), end_(Now() + lasts) {
    readable_.Signal();
  }

  [[nodiscard]] int fd() const override { return readable_.fd(); }
  [[nodiscard]] std::span<const fabric::ReceivedDatagram> Receive() override {
    if (Now() < end_) return datagrams_;
    static_cast<void>(readable_.TryWait());
    return {};
  }
  [[nodiscard]] fabric::TransmitCounters transmit_counters() const override { return {}; }
  [[nodiscard]] fabric::ReceiveCounters receive_counters() const override { return {}; }
  void ReportHeaders() override {}
  [[nodiscard]] ErrorOr<void> Join(const IpAddress&) override { return {}; }
  void Leave(const IpAddress&) override {}
  [[nodiscard]] std::vector<std::string> TakeWarnings() override { return {}; }

 private:
  fabric::FlushResult Send() override {
    batch_.Clear();
    return fabric::FlushResult::kDone;
  }

  const Time end_;
  const EventFile readable_ = std::move(*EventFile::Open(false));
  std::array<std::byte, 8> bytes_{};
  std::array<fabric::ReceivedDatagram, 1> datagrams_{{{.from = {}, .to = {}, .bytes = bytes_}}};
  fabric::MessageBatch batch_{{}, /*segmentation=*/true};
};

}  // namespace verbena::adapter
