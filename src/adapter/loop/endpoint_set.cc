#include "adapter/loop/endpoint_set.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace verbena::adapter {

EndpointSet::EndpointSet(std::unique_ptr<fabric::Fabric> first) {
  fabric_of_[first->endpoint().value()] = 1;
  fabrics_.push_back(std::move(first));
}

bool EndpointSet::Watch(fabric::Fabric& fabric) const {
  epoll_event event{.events = EPOLLIN, .data = {.ptr = &fabric}};
  return epoll_ctl(set_.get(), EPOLL_CTL_ADD, fabric.fd(), &event) == 0;
}

ErrorOr<void> EndpointSet::Add(std::unique_ptr<fabric::Fabric> fabric) {
  CHECK(!Has(fabric->endpoint()) && fabrics_.size() < UINT8_MAX);
  fabrics_.reserve(fabrics_.size() + 1);  // can throw, so it comes before epoll gets the pointer
  if (!set_.is_open()) {
    fabric::FileDescriptor set(epoll_create1(EPOLL_CLOEXEC));
    if (!set.is_open()) return Fail(SystemError("cannot watch another socket"));
    set_ = std::move(set);
    if (!Watch(first())) {
      set_ = {};
      return Fail(SystemError("cannot watch another socket"));
    }
  }
  if (!Watch(*fabric)) return Fail(SystemError("cannot watch another socket"));
  fabrics_.push_back(std::move(fabric));
  fabric_of_[fabrics_.back()->endpoint().value()] = static_cast<uint8_t>(fabrics_.size());
  return {};
}

fabric::Fabric* EndpointSet::FindBelow(uint32_t end) const {
  for (const auto& fabric : fabrics_) {
    if (fabric->endpoint().value() < end) return fabric.get();
  }
  return nullptr;
}

bool EndpointSet::IsConsistent() const {
  if (fabrics_.empty() || (fabrics_.size() > 1) > set_.is_open()) return false;
  for (size_t i = 0; i < fabrics_.size(); ++i) {
    if (fabric_of_[fabrics_[i]->endpoint().value()] != i + 1) return false;
  }
  return std::ranges::all_of(fabric_of_, [&](uint8_t of) { return of <= fabrics_.size(); });
}

bool EndpointSet::Flush() const {
  bool is_done = true;
  for (const auto& fabric : fabrics_) {
    is_done = fabric->Flush() == fabric::FlushResult::kDone && is_done;
  }
  return is_done;
}

fabric::TransmitCounters EndpointSet::transmit_counters() const {
  fabric::TransmitCounters sum;
  for (const auto& fabric : fabrics_) sum += fabric->transmit_counters();
  return sum;
}

fabric::ReceiveCounters EndpointSet::receive_counters() const {
  fabric::ReceiveCounters sum;
  for (const auto& fabric : fabrics_) sum += fabric->receive_counters();
  return sum;
}

}  // namespace verbena::adapter
