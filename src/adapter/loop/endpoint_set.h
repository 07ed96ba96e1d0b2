#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "adapter/error.h"
#include "adapter/port_map.h"
#include "base/check.h"
#include "fabric/counters.h"
#include "fabric/fabric.h"
#include "fabric/file_descriptor.h"
#include "wire/roce/types.h"

namespace verbena::adapter {

// The sockets of an adapter: one per endpoint of this process. The first one exists from the start,
// and a single socket needs no further system calls. With several, an epoll set says which ones to
// read.
//
// Invariant: fabric_of_[e] - 1 is the index of the fabric that sends and receives for the queue
// pairs of endpoint e; 0 if e is not ours. In strict mode one fabric serves several endpoints.
//
// Owned by the engine; under its lock.
class EndpointSet {
 public:
  explicit EndpointSet(std::unique_ptr<fabric::Fabric> first);
  EndpointSet(const EndpointSet&) = delete;
  EndpointSet& operator=(const EndpointSet&) = delete;

  // If the system refuses, nothing has changed.
  [[nodiscard]] ErrorOr<void> Add(std::unique_ptr<fabric::Fabric> fabric);
  // The first fabric also serves queue pairs with numbers of this endpoint.
  void AddAlias(fabric::EndpointId endpoint) {
    CHECK(!Has(endpoint));
    fabric_of_[endpoint.value()] = 1;
  }

  [[nodiscard]] bool Has(fabric::EndpointId endpoint) const {
    return fabric_of_[endpoint.value()] != 0;
  }
  // REQUIRES: the endpoint of `qp` is ours.
  [[nodiscard]] fabric::Fabric& Of(QpNumber qp) const {
    DCHECK(Has(EndpointOf(qp)));
    return *fabrics_[fabric_of_[EndpointOf(qp).value()] - size_t{1}];
  }
  // Never replaced, so any thread may read its constant properties.
  [[nodiscard]] fabric::Fabric& first() const { return *fabrics_.front(); }
  // A fabric whose endpoint is below `end`; nullptr if there is none.
  [[nodiscard]] fabric::Fabric* FindBelow(uint32_t end) const;
  [[nodiscard]] size_t size() const { return fabrics_.size(); }
  [[nodiscard]] bool IsConsistent() const;

  // Readable when there is something to receive. Changes with Add.
  [[nodiscard]] int fd() const { return set_.is_open() ? set_.get() : first().fd(); }

  // Calls fn(fabric, datagrams) for each fabric that has received datagrams. True if any has.
  template <class Fn>
  bool Receive(Fn fn) const {
    return fabrics_.size() == 1 ? ReceiveFrom(first(), fn) : ReceiveFromSeveral(fn);
  }
  // False if a socket's send buffer is full.
  [[nodiscard]] bool Flush() const;

  [[nodiscard]] fabric::TransmitCounters transmit_counters() const;
  [[nodiscard]] fabric::ReceiveCounters receive_counters() const;
  // Warnings of the first fabric: the others would repeat them.
  [[nodiscard]] std::vector<std::string> TakeWarnings() const { return first().TakeWarnings(); }

 private:
  // Sockets that one call reports; the next call reports the others.
  static constexpr int kReadableMax = 64;

  template <class Fn>
  static bool ReceiveFrom(fabric::Fabric& fabric, Fn& fn) {
    const auto datagrams = fabric.Receive();
    fn(fabric, datagrams);
    return !datagrams.empty();
  }

  template <class Fn>
  bool ReceiveFromSeveral(Fn& fn) const {
    std::array<epoll_event, kReadableMax> readable;
    const int count = epoll_wait(set_.get(), readable.data(), kReadableMax, 0);
    bool any = false;
    for (int i = 0; i < count; ++i) {
      auto& fabric = *static_cast<fabric::Fabric*>(readable[static_cast<size_t>(i)].data.ptr);
      any = ReceiveFrom(fabric, fn) || any;
    }
    return any;
  }

  [[nodiscard]] bool Watch(fabric::Fabric& fabric) const;

  std::vector<std::unique_ptr<fabric::Fabric>> fabrics_;
  std::array<uint8_t, fabric::kEndpointsMax> fabric_of_{};
  fabric::FileDescriptor set_;  // open once there are two sockets
};

}  // namespace verbena::adapter
