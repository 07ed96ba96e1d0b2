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

// The sockets of an adapter: one for each endpoint that this process has. There is one from the
// beginning, and nothing is asked of the system beside it while it is alone; of several, an epoll
// set knows which ones to read.
//
// Invariant: fabric_of_[e] - 1 is the index of the fabric by which the queue pairs of endpoint e
// send and receive; 0 if e is not ours. In strict mode one fabric serves several.
//
// Owned by the engine; under its lock.
class EndpointSet {
 public:
  explicit EndpointSet(std::unique_ptr<fabric::Fabric> first);
  EndpointSet(const EndpointSet&) = delete;
  EndpointSet& operator=(const EndpointSet&) = delete;

  // Refuses when the system does; nothing has changed then.
  [[nodiscard]] ErrorOr<void> Add(std::unique_ptr<fabric::Fabric> fabric);
  // The first one also serves queue pairs with numbers of this endpoint.
  void AddAlias(fabric::EndpointId endpoint) {
    CHECK(!Has(endpoint));
    fabric_of_[endpoint.value()] = 1;
  }

  [[nodiscard]] bool Has(fabric::EndpointId endpoint) const {
    return fabric_of_[endpoint.value()] != 0;
  }
  // REQUIRES: its endpoint is ours.
  [[nodiscard]] fabric::Fabric& Of(QpNumber qp) const {
    DCHECK(Has(EndpointOf(qp)));
    return *fabrics_[fabric_of_[EndpointOf(qp).value()] - size_t{1}];
  }
  // Never another one: any thread may ask it for what does not change.
  [[nodiscard]] fabric::Fabric& first() const { return *fabrics_.front(); }
  // One below `end`; nullptr if there is none.
  [[nodiscard]] fabric::Fabric* FindBelow(uint32_t end) const;
  [[nodiscard]] size_t size() const { return fabrics_.size(); }
  [[nodiscard]] bool IsConsistent() const;

  // Readable when there is something to receive. Another one after Add.
  [[nodiscard]] int fd() const { return set_.is_open() ? set_.get() : first().fd(); }

  // Calls fn(fabric, datagrams) for each that has received some. True if one has.
  template <class Fn>
  bool Receive(Fn fn) const {
    return fabrics_.size() == 1 ? ReceiveFrom(first(), fn) : ReceiveFromSeveral(fn);
  }
  // False when the system takes no more of one now.
  [[nodiscard]] bool Flush() const;

  [[nodiscard]] fabric::TransmitCounters transmit_counters() const;
  [[nodiscard]] fabric::ReceiveCounters receive_counters() const;
  // Of the first one: others have nothing new to say.
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
  fabric::FileDescriptor set_;  // open once there are several
};

}  // namespace verbena::adapter
