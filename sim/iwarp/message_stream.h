#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "base/random.h"
#include "base/time.h"
#include "sim/iwarp/plan.h"
#include "sim/iwarp/stream.h"
#include "transport/iwarp/ddp_session.h"
#include "wire/iwarp/types.h"

namespace verbena::sim {

// One direction of a DDP stream session over SCTP: each record is a message, which arrives once and
// unchanged, but late and out of order. The real DdpSession of either end numbers the messages and
// brings them in order; those ahead of a gap are shown to the receiver when they arrive. No more
// messages are under way than SCTP's window allows. One thread.
class MessageStream : public Stream {
 public:
  MessageStream(const IwarpPlan& plan, Random random, Receive receive);

  void Pull(transport::SendBuffer& from, Time now) override;
  void Run(Time now) override;
  void Retry() override { Deliver(); }
  void Heal() override { is_healed_ = true; }
  void Cut() override;

  [[nodiscard]] Time next_time() const override {
    return messages_.empty() ? Time::Never() : messages_.begin()->first;
  }
  [[nodiscard]] bool is_idle() const override {
    return messages_.empty() && inbox_.empty() && receiver_.front() == nullptr;
  }
  [[nodiscard]] bool was_corrupted() const override { return false; }

 private:
  struct Message {
    wire::DdpProtocol protocol = {};
    Bytes bytes;
  };

  bool Chance(uint32_t per_mille) { return !is_healed_ && random_.Chance(per_mille, 1000); }
  void Send(Message message, Time now);
  void ShowEarly();
  void Deliver();

  const IwarpPlan plan_;
  Random random_;
  Receive receive_;
  transport::DdpSession sender_{transport::DdpRole::kInitiator};
  transport::DdpSession receiver_{transport::DdpRole::kResponder};
  std::multimap<Time, Message> messages_;  // under way, by their time of arrival
  Bytes inbox_;                            // records in order that are not taken
  uint64_t under_way_ = 0;                 // bytes that are sent and not in order yet
  uint64_t taken_ = 0;                     // records that were given in order
  Time last_;                              // arrival of the last message in order
  bool is_healed_ = false;
  bool is_cut_ = false;
};

}  // namespace verbena::sim
