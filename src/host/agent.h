#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/event_file.h"
#include "base/time.h"
#include "host/arbiter_options.h"
#include "host/channel.h"
#include "host/guest_memory.h"

namespace verbena::host {

struct AgentOptions {
  std::string socket;  // of the broker
  std::string name;    // of the guest
  GuestLimits limits = {};
  // How long the first grant may take: another guest may have to give something up first.
  Duration grant_patience = Seconds(20);
  // How long a broker that has died, or ends the connection, may take to be there (again) when the
  // guest attaches for the first time.
  Duration attach_patience = Seconds(3);
  // How often the memory is looked at for what the broker has to know.
  Duration report_period = Milliseconds(100);
  // The first and the longest pause before the broker is called again.
  Duration retry_min = Milliseconds(20);
  Duration retry_max = Seconds(1);
};

// The host's thread in a guest: attaches to the broker, declares the guest's memory and regions,
// reports how they are used, and does what the broker asks.
//
// A broker that ends takes nothing with it: the guest keeps its grant, and the agent calls the next
// broker until it answers.
//
// Start and the destructor: any thread, outside of the locks that GuestMemory takes.
class Agent {
 public:
  // Returns when the guest has its first grant. Fails if there is no broker, or it refuses. A
  // broker that dies meanwhile is called again, and so is one that has died before: its socket is
  // there, and no process listens.
  // `memory` outlives the agent.
  [[nodiscard]] static ErrorOr<std::unique_ptr<Agent>> Start(const AgentOptions& options,
                                                             GuestMemory& memory);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  // Says goodbye to the broker.
  ~Agent();

 private:
  Agent(const AgentOptions& options, GuestMemory& memory, EventFile stop);

  void Run();
  // One connection, from hello to its end.
  void Serve();
  void Retry();
  void EndTry(Error why);
  void Declare();
  void DeclareFiles();
  void DeclareRegions();
  void DeclareWords();
  void Report();
  void Acknowledge();
  void SendEvents();
  void Handle(const BrokerMessage& message);
  void HandleGrant(const GrantMessage& grant);
  void HandleRegion(const RegionRequestMessage& request);
  void Send(const BrokerMessage& message, int file = -1);
  void SendEvent(RegionNumber region, RegionEventMessage::Kind kind);
  void Wait(Duration patience);
  void SetFirst(ErrorOr<void> result);

  const AgentOptions options_;
  GuestMemory& memory_;
  const EventFile stop_;
  // Of the thread.
  std::optional<BrokerChannel> channel_;
  bool is_welcome_ = false;
  bool is_stopping_ = false;
  uint64_t grant_ = 0;
  std::optional<GrantMessage> unobeyed_;
  std::set<uint32_t> files_;        // that the broker knows
  std::set<RegionNumber> regions_;  // likewise
  bool knows_words_ = false;        // likewise
  std::optional<UseMessage> reported_;
  Time report_at_;
  const Time attach_until_;
  Time retry_at_;
  Duration retry_pause_;
  // What Start waits for.
  std::mutex mutex_;
  std::condition_variable first_;
  std::optional<ErrorOr<void>> first_result_;
  std::thread thread_;
};

}  // namespace verbena::host
