#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "sim/cm/conversation.h"
#include "sim/cm/plan.h"
#include "sim/findings.h"
#include "transport/cm/cm_event.h"

namespace verbena::sim {

// Checks the events of consumers: each event once, none without its cause at the other side,
// private data complete and of the right conversation, and an end for every conversation. One
// thread.
class CmOracle {
 public:
  CmOracle(const CmPlan& plan, std::vector<CmConversation>& conversations, Findings& findings)
      : plan_(plan), conversations_(conversations), findings_(findings) {}

  // Records what an id of a node in this generation refers to; connections of outsiders are not
  // recorded.
  void Know(CmConversation& conversation, CmSide& side, wire::CommId id);
  struct Known {
    CmConversation* conversation;
    CmSide* side;
    CmSide* other;
  };
  [[nodiscard]] std::optional<Known> Find(uint32_t node, uint32_t life, wire::CommId id) const;

  // An event of a conversation, other than the first at the passive side.
  void OnEvent(const Known& known, const transport::CmRaisedEvent& event);
  // The first event: returns its conversation; nullptr for a request of an outsider.
  [[nodiscard]] CmConversation* OnConnectRequest(uint32_t node, uint32_t life,
                                                 const transport::CmRaisedEvent& event);
  [[nodiscard]] CmConversation* OnSidrRequest(uint32_t node, const transport::CmRaisedEvent& event);
  void OnSidrEnd(CmConversation& conversation, const transport::CmRaisedEvent& event);

  // Called when nothing is outstanding. `lives`: the generations of all nodes.
  void CheckEnd(const std::vector<uint32_t>& lives);

 private:
  void Object(const CmConversation& conversation, const char* what);
  void CheckQp(const CmConversation& conversation);
  void OnFinal(const Known& known, const transport::CmRaisedEvent& event);
  void CheckSide(const CmConversation& conversation, const CmSide& side, uint32_t life);
  template <class Message>
  void CheckData(const CmConversation& conversation, const transport::CmRaisedEvent& event);

  const CmPlan& plan_;
  std::vector<CmConversation>& conversations_;
  Findings& findings_;
  struct Place {
    uint32_t conversation;
    bool is_active;
  };
  std::map<std::tuple<uint32_t, uint32_t, wire::CommId>, Place> ids_;
};

}  // namespace verbena::sim
