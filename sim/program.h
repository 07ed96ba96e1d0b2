#pragma once

#include "adapter/objects/event_queue.h"
#include "base/time.h"
#include "sim/endnode.h"

namespace verbena::sim {

// Programs beside those of the reliable connections, on the same adapters and links, with oracles
// of their own. One thread.
class Program {
 public:
  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  virtual ~Program() = default;

  // Of the safety phase: posts something now and then, and something goes wrong.
  virtual void Post(Time now) = 0;
  virtual void Disturb() = 0;

  // Of both.
  virtual void FillReceives(bool is_calm) = 0;
  virtual void Poll(bool is_calm) = 0;
  // An asynchronous event of an endnode; true when it was of one of these.
  virtual bool OnEvent(const Endnode& node, const adapter::Event& event) = 0;
  // All events of the endnode were taken.
  virtual void OnNoMoreEvents(const Endnode& node) = 0;
  // REQUIRES: another endnode stands in its place.
  virtual void Crashed(const Endnode& victim) = 0;

  // Nothing is outstanding.
  [[nodiscard]] virtual bool IsQuiet() const = 0;
  virtual void Check() = 0;
  // Everything that is posted ends, and nothing remains.
  virtual void TakeDown() = 0;
};

}  // namespace verbena::sim
