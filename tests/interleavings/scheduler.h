#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

// Runs a few threads in every order. One thread runs at a time; at each point where threads can
// meet (an atomic variable, a mutex, a call of the outside) the scheduler decides which one goes
// on, and the next run decides differently, until there is no other way.
//
// The orders are all those with at most `preemptions_max` switches away from a thread that could
// have gone on: most mistakes between threads need one or two. Memory is sequentially consistent
// here; what weaker orders allow is ThreadSanitizer's to find.

namespace verbena::interleavings {

// Threads and what they share, made again for each run.
class Scenario {
 public:
  virtual ~Scenario() = default;
  [[nodiscard]] virtual std::vector<std::function<void()>> Threads() = 0;
  // After the last thread has ended.
  virtual void Finish() {}
};

struct Exploration {
  uint64_t runs = 0;
  std::string failure = {};  // of the last run, with the order of its threads; empty: none
};

[[nodiscard]] Exploration Explore(int preemptions_max,
                                  const std::function<std::unique_ptr<Scenario>()>& make);

// --- Within a scenario. Outside of its threads, all of them do nothing. ---

// Another thread may go on here.
void Point();
// The thread waits for another one to do something: the next thread goes on.
void Yield();
// The thread goes on when `is_free` is true; it is called by the scheduler.
void WaitFor(const std::function<bool()>& is_free);
// The run has failed if `holds` is false; the first failure is reported.
void Expect(bool holds, const char* what);
// 0 for the first thread; 7 outside of threads.
[[nodiscard]] uint32_t ThisThread();

}  // namespace verbena::interleavings
