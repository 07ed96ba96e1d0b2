#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "sim/findings.h"
#include "sim/iwarp/plan.h"
#include "sim/iwarp/side.h"
#include "sim/iwarp/stream.h"
#include "sim/oracle/atomics.h"
#include "wire/iwarp/terminate_code.h"

namespace verbena::sim {

// One run of real iWARP queue pairs over a bad byte stream on bad memory, in virtual time,
// determined by the seed. Connections follow each other on the same two machines. When all
// operations of one are posted, the stream becomes good; then everything must end. One thread.
class IwarpRun {
 public:
  struct Result {
    std::string failure;  // empty: no finding
    uint64_t posted = 0;
    uint64_t messages = 0;
    uint64_t segments = 0;
    uint64_t sessions = 0;
    uint64_t early = 0;  // frames that were placed ahead of the stream
    uint64_t page_waits = 0;
    uint64_t broken = 0;  // connections
    uint64_t terminated = 0;
    uint64_t one_touch = 0;  // keys that ended with their message
    uint64_t digest = 0;     // of all bytes: equal for two runs of one seed
    Duration virtual_time;
  };
  // Gets a line for each operation, completion and end; may be empty.
  using Trace = std::function<void(const std::string&)>;

  static Result Run(const IwarpPlan& plan, const Trace& trace);

 private:
  using Bytes = std::vector<std::byte>;

  IwarpRun(const IwarpPlan& plan, const Trace& trace);

  Result RunAll();
  void RunConnection();
  void RunUntilQuiet();
  void Connect();
  std::unique_ptr<Stream> MakeStream(IwarpSide& peer, transport::StreamFraming framing);
  void TakeDown();
  void Barrier();
  void At(Time time, std::function<void()> action) { actions_.emplace(time, std::move(action)); }
  bool RunNext();

  // run_steps.cc: the machines.
  void StepAll();
  void StepSide(IwarpSide& side);
  void DrainOutbox(IwarpSide& side);
  void ServePages(IwarpSide& side, const transport::PageRequest& request);
  size_t Deliver(IwarpSide& to, wire::StreamOffset at, std::span<std::byte> bytes);
  void PollSends(IwarpSide& side);
  void PollReceives(IwarpSide& side);
  void OnDone(IwarpSide& side, Operation& operation, bool well);
  void Settle(IwarpSide& side, uint64_t before);
  void SettleOne(IwarpSide& side, Operation& operation, bool well);
  void OnEnded(IwarpSide& side);
  void Break(const char* why);
  void Evict();
  void CheckMemory();

  // run_programs.cc: the programs.
  void PostSome();
  bool PostOne(IwarpSide& side, IwarpSide& peer);
  bool PostSend(IwarpSide& side, IwarpSide& peer);
  bool PostWrite(IwarpSide& side, IwarpSide& peer);
  bool PostRead(IwarpSide& side, IwarpSide& peer);
  bool PostAtomic(IwarpSide& side, IwarpSide& peer);
  void PostIllegal(IwarpSide& side, IwarpSide& peer);
  std::optional<RemoteAddress> GrantOnce(IwarpSide& peer, uint32_t slot, Access right);
  std::shared_ptr<Operation> NewOperation(queue::SendOpcode opcode);
  void Post(IwarpSide& side, const std::shared_ptr<Operation>& operation,
            const queue::SendOperand& operand, const std::vector<Sge>& sges);
  Bytes DrawBytes(Random& random, uint64_t size);
  std::vector<Sge> SplitOf(IwarpSide& side, uint32_t slot, uint64_t size);
  [[nodiscard]] bool Chance(uint32_t per_mille) { return random_.Chance(per_mille, 1000); }
  void Say(const IwarpSide& side, const std::string& text);

  const IwarpPlan plan_;
  const Trace trace_;
  Random random_;
  Findings findings_;
  std::unique_ptr<IwarpSide> sides_[2];
  std::unique_ptr<Stream> streams_[2];  // from side i to the other
  std::multimap<Time, std::function<void()>> actions_;
  AtomicsOracle atomics_[2];  // on the word of side i
  Time now_{};
  uint64_t next_id_ = 1;
  uint32_t left_to_post_ = 0;
  uint32_t connection_ = 0;
  uint32_t steps_ = 0;
  bool is_broken_ = false;
  bool is_healed_ = false;
  bool has_other_cause_ = false;                      // for the end than an illegal request
  std::optional<wire::TerminateCode> expected_code_;  // of the side that an illegal request is for
  uint32_t illegal_side_ = 0;                         // that sent it
  Result result_{};
};

}  // namespace verbena::sim
