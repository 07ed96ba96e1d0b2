#pragma once

#include <map>
#include <memory>
#include <vector>

#include "adapter/control/adapter.h"
#include "host/agent.h"
#include "host/guest_memory.h"
#include "verbena/error.h"
#include "verbena/options.h"

namespace verbena::verbs {

// Makes the process of an adapter a guest: owns the agent, and applies its requests to the memory
// of the adapter. See docs/guests.md.
//
// Owned by the owner of the adapter, which outlives it. Threads: see Agent.
class Guest {
 public:
  // Returns when the broker has granted memory.
  [[nodiscard]] static ErrorOr<std::unique_ptr<Guest>> Attach(const Options& options,
                                                              adapter::Adapter& adapter);
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;
  ~Guest() = default;

 private:
  // The agent's interface to the memory. Used on the agent's thread.
  class Memory final : public host::GuestMemory {
   public:
    explicit Memory(adapter::Adapter& adapter);

    ErrorOr<void> SetBudget(uint64_t bytes) override { return control_.SetMemoryBudget(bytes); }
    Use QueryUse() override;
    std::vector<File> Files() override;
    std::vector<Region> Regions() override;
    int WordsFile() override { return control_.current_io_fd(); }
    void Quiesce(host::RegionNumber region, host::RegionPart part, bool force) override;
    void Resume(host::RegionNumber region) override;
    void Withdraw() override;
    [[nodiscard]] Time next_time() override { return control_.next_time(); }
    [[nodiscard]] int event_fd() const override { return control_.event_fd(); }
    std::vector<Event> TakeEvents() override;

   private:
    adapter::Adapter& adapter_;
    adapter::GuestControl& control_;
    std::vector<Event> refused_;                // of Quiesce, not taken yet
    std::map<uint32_t, FileDescriptor> files_;  // declared files
  };

  explicit Guest(adapter::Adapter& adapter) : memory_(adapter) {}

  Memory memory_;
  std::unique_ptr<host::Agent> agent_;
};

}  // namespace verbena::verbs
