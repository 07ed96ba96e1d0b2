#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "base/random.h"
#include "base/time.h"
#include "sim/cm/plan.h"
#include "transport/cm/cm_step.h"
#include "verbena/ip_address.h"
#include "wire/mad/cm_mad.h"

namespace verbena::sim {

// The schedule of a run: calls of consumers, and datagrams on a network that loses, duplicates,
// delays and mangles them. One thread.
class CmNetwork {
 public:
  using Mad = std::array<std::byte, wire::kMadSize>;
  using Receive = std::function<void(uint32_t to, const IpAddress& from, const Mad& mad)>;

  CmNetwork(const CmPlan& plan, Random random, Receive receive)
      : plan_(plan), random_(random), receive_(std::move(receive)) {}

  [[nodiscard]] static IpAddress AddressOf(uint32_t node) {
    return IpAddress::FromIpv4(Ipv4Address(kFirst + node));
  }
  // The node of an address; the number of nodes, or more, for an outsider.
  [[nodiscard]] static uint32_t NodeOf(const IpAddress& address) {
    return address.ipv4()->value() - kFirst;
  }

  void Send(Time now, uint32_t from, const transport::CmDatagram& datagram);
  void At(Time time, std::function<void()> action) {
    actions_.emplace(std::pair{time, ++sequence_}, std::move(action));
  }
  [[nodiscard]] Time next_time() const {
    return actions_.empty() ? Time::Never() : actions_.begin()->first.first;
  }
  // Runs one action that is due; false if there is none.
  bool RunOne(Time now);
  // From now on nothing is lost, duplicated or mangled.
  void Heal() { is_healed_ = true; }

  [[nodiscard]] uint64_t sent() const { return sent_; }
  [[nodiscard]] uint64_t digest() const { return digest_; }

 private:
  static constexpr uint32_t kFirst = 0x0A000001;
  static constexpr uint32_t kOutsider = 100;

  void Deliver(Time now, uint32_t to, const IpAddress& from, const Mad& mad);
  void Mangle(Mad& mad);

  const CmPlan plan_;
  Random random_;
  Receive receive_;
  std::map<std::pair<Time, uint64_t>, std::function<void()>> actions_;
  uint64_t sequence_ = 0;
  uint64_t sent_ = 0;
  uint64_t digest_ = 0;
  bool is_healed_ = false;
};

}  // namespace verbena::sim
