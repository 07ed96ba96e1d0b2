#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "sim/cm/conversation.h"
#include "sim/cm/network.h"
#include "sim/cm/oracle.h"
#include "sim/cm/plan.h"
#include "sim/findings.h"
#include "transport/cm/cm_manager.h"

namespace verbena::sim {

// One run of real connection managers with simulated consumers on a bad network, in virtual time,
// determined by the seed. When all conversations have begun, the network becomes good; then
// everything must end, and nothing may be left. One thread.
class CmRun {
 public:
  struct Result {
    std::string failure;  // empty: no finding
    uint64_t datagrams = 0;
    uint64_t events = 0;
    uint64_t established = 0;  // at the passive side
    uint64_t rejected = 0, unreachable = 0, disconnected = 0;
    uint64_t refused = 0;  // without an event for the consumer
    uint64_t digest = 0;   // of all datagrams and events: equal for two runs of one seed
    Duration virtual_time;
  };
  // Gets a line for each call, event and datagram; may be empty.
  using Trace = std::function<void(const std::string&)>;

  static Result Run(const CmPlan& plan, const Trace& trace);

 private:
  struct Node {
    std::unique_ptr<transport::CmManager> manager;
    uint32_t life = 0;
    uint32_t next_qp = kFirstQp;
    transport::CmCounters before = {};  // of earlier generations
  };
  static constexpr uint32_t kFirstQp = 16;

  CmRun(const CmPlan& plan, const Trace& trace);

  Result RunAll();
  void Step();
  void CheckNothingRemains();
  void Say(uint32_t node, const std::string& text);

  // Nodes.
  void Start(uint32_t node);
  void Crash(uint32_t node);
  [[nodiscard]] QpNumber FreeQp(Node& node);
  // One input to the manager of a node, and its effects. Returns the result of `call`.
  template <class Call>
  auto Do(uint32_t node, Call call);
  void Receive(uint32_t to, const IpAddress& from, const CmNetwork::Mad& mad);
  void OnEvent(uint32_t node, const transport::CmRaisedEvent& event);
  void Count(const transport::CmRaisedEvent& event);

  // Consumers: run_consumers.cc.
  void Begin(CmConversation& conversation);
  void BeginSidr(CmConversation& conversation);
  void OnOutsider(uint32_t node, const transport::CmRaisedEvent& event);
  void OnRequest(CmConversation& conversation, const transport::CmRaisedEvent& event);
  void OnSidrRequest(uint32_t node, const transport::CmRaisedEvent& event);
  void OnSidrEnd(uint32_t node, const transport::CmRaisedEvent& event);
  void React(const CmOracle::Known& known, const transport::CmRaisedEvent& event);
  void Accept(CmConversation& conversation);
  void Establish(CmConversation& conversation);
  void Reject(CmConversation& conversation, CmSide& side);
  void SendMra(CmSide& side);
  void Disconnect(CmConversation& conversation, CmSide& side);
  void Destroy(CmSide& side);
  // Calls `act` later, unless the side is over by then or its node has crashed.
  void Later(CmSide& side, Duration at_most, std::function<void()> act);
  [[nodiscard]] bool IsLive(const CmSide& side) const {
    return side.is_known && !side.is_over() && nodes_[side.node].life == side.life;
  }
  [[nodiscard]] bool Chance(uint32_t per_mille) { return random_.Chance(per_mille, 1000); }

  const CmPlan plan_;
  const Trace trace_;
  Random random_;
  Findings findings_;
  std::vector<CmConversation> conversations_;
  CmOracle oracle_;
  CmNetwork network_;
  std::vector<Node> nodes_;
  // Outstanding SIDR requests, by node, generation and id.
  std::map<std::tuple<uint32_t, uint32_t, wire::SidrRequestId>, uint32_t> questions_;
  Time now_{};
  Result result_{};
};

template <class Call>
auto CmRun::Do(uint32_t node, Call call) {
  transport::CmOutbox outbox;
  transport::CmStep step{now_, outbox};
  auto result = call(*nodes_[node].manager, step);
  for (const transport::CmDatagram& datagram : outbox.datagrams) {
    Say(node, "sends " + ToString(datagram.mad.message));
    network_.Send(now_, node, datagram);
  }
  for (const transport::CmRaisedEvent& event : outbox.events) OnEvent(node, event);
  return result;
}

}  // namespace verbena::sim
