#pragma once

#include "adapter/objects/event_queue.h"
#include "base/time.h"
#include "sim/endnode.h"

namespace verbena::sim {

// A simulated program next to those of the reliable connections, on the same adapters and links,
// with its own oracles. One thread.
class Program {
 public:
  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  virtual ~Program() = default;

  // Only in the safety phase: Post posts work at random, Disturb injects trouble.
  virtual void Post(Time now) = 0;
  virtual void Disturb() = 0;

  // In both phases. `is_calm`: the liveness phase.
  virtual void FillReceives(bool is_calm) = 0;
  virtual void Poll(bool is_calm) = 0;
  // An asynchronous event of an endnode; true if it is for an object of this program.
  virtual bool OnEvent(const Endnode& node, const adapter::Event& event) = 0;
  // All events of the endnode were delivered to OnEvent.
  virtual void OnNoMoreEvents(const Endnode& node) = 0;
  // REQUIRES: another endnode has replaced the victim.
  virtual void Crashed(const Endnode& victim) = 0;

  // No work is outstanding.
  [[nodiscard]] virtual bool IsQuiet() const = 0;
  virtual void Check() = 0;
  // Ends all posted work, and destroys all objects.
  virtual void TakeDown() = 0;
};

}  // namespace verbena::sim
