#include "fabric/network_cache.h"

#include <linux/rtnetlink.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "fabric/netlink_reports.h"

namespace verbena::fabric {
namespace {

// Destinations that are cached; further ones are queried again.
constexpr std::size_t kKeptMax = 32;

// Checking the network namespace takes 6 us, and a connection would do so ten times.
constexpr Duration kSoon = Milliseconds(1);

constexpr uint32_t kGroups =
    RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;

}  // namespace

NetworkCache::Origin NetworkCache::Here() {
  struct stat found {};
  if (stat("/proc/thread-self/ns/net", &found) != 0) return {};
  return {.process = getpid(), .device = found.st_dev, .network = found.st_ino};
}

bool NetworkCache::IsSurelyHere(Time now) {
  const bool is_soon = origin_.network != 0 && pthread_equal(asker_, pthread_self()) != 0 &&
                       now < asked_at_ + kSoon && getpid() == origin_.process;
  asker_ = pthread_self();
  if (!is_soon) asked_at_ = now;
  return is_soon;
}

void NetworkCache::Refresh(Time now) {
  const Origin here = IsSurelyHere(now) ? origin_ : Here();
  if (here == origin_ && reports_.is_open()) {
    if (TakeNetlinkReports(reports_.get())) Forget();
    return;
  }
  Forget();
  reports_ = here.network != 0 ? OpenNetlinkReports(kGroups) : FileDescriptor();
  origin_ = here;
}

void NetworkCache::Forget() {
  addresses_.reset();
  sources_.clear();
  mtus_.clear();
}

template <class Known>
void NetworkCache::Keep(std::deque<Known>& all, Known known) const {
  if (!reports_.is_open()) return;
  if (all.size() == kKeptMax) all.pop_front();
  all.push_back(std::move(known));
}

ErrorOr<std::vector<LocalAddress>> NetworkCache::Addresses(Time now) {
  Refresh(now);
  if (addresses_) return *addresses_;
  auto listed = asked::LocalAddresses();
  if (listed && reports_.is_open()) addresses_ = *listed;
  return listed;
}

std::optional<IpAddress> NetworkCache::SourceFor(const IpAddress& to, Time now) {
  Refresh(now);
  const auto known = std::ranges::find(sources_, to, [](const auto& one) { return one.first; });
  if (known != sources_.end()) return known->second;
  const auto source = asked::UsualSource(to);
  if (source) Keep(sources_, {to, *source});
  return source;
}

ErrorOr<uint32_t> NetworkCache::Mtu(const Route& route, Time now) {
  Refresh(now);
  std::erase_if(mtus_, [&](const KnownMtu& one) { return one.good_until <= now; });
  const auto known = std::ranges::find(mtus_, route, &KnownMtu::route);
  if (known != mtus_.end()) return known->bytes;
  const auto bytes = asked::PathMtu(route);
  if (bytes) Keep(mtus_, {route, now + kMtuGoodFor, *bytes});
  return bytes;
}

}  // namespace verbena::fabric
