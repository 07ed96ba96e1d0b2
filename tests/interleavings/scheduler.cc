#include "tests/interleavings/scheduler.h"

#include <ucontext.h>

#include <array>
#include <optional>
#include <utility>

#include "base/check.h"

namespace verbena::interleavings {
namespace {

constexpr size_t kStackBytes = 128 << 10;
constexpr uint64_t kStepsMax = 100'000;  // a run that takes more goes round in circles

// Where a run could have gone on with one of several threads.
struct Decision {
  uint32_t taken = 0;
  uint32_t options = 0;
};

struct Thread {
  std::function<void()> body;
  ucontext_t context = {};
  bool has_ended = false;
  const std::function<bool()>* waits_for = nullptr;
};

// The stacks outlive the runs, of which there are many.
char* StackOf(size_t thread) {
  static std::array<std::vector<char>, 8> stacks;
  stacks.at(thread).resize(kStackBytes);
  return stacks[thread].data();
}

// One run: follows the decisions of `path` as far as they go, then takes the first option.
class Run {
 public:
  Run(std::vector<std::function<void()>> bodies, std::vector<Decision>& path, int preemptions_max)
      : path_(path), preemptions_left_(preemptions_max) {
    for (auto& body : bodies) threads_.push_back(std::make_unique<Thread>(Thread{std::move(body)}));
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void Go();
  void Point() { SwitchTo(Choose(false)); }
  void Yield();
  void WaitFor(const std::function<bool()>& is_free);
  void Fail(const std::string& what);
  [[nodiscard]] uint32_t current() const { return current_; }
  [[nodiscard]] size_t size() const { return threads_.size(); }
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  static void Start();
  static void Prepare(ucontext_t& context, char* stack);
  [[nodiscard]] bool CanGoOn(uint32_t thread) const;
  [[nodiscard]] uint32_t Choose(bool leaves);
  void SwitchTo(uint32_t thread);
  void Leave();

  std::vector<Decision>& path_;
  int preemptions_left_;
  std::vector<std::unique_ptr<Thread>> threads_;
  ucontext_t main_ = {};
  uint32_t current_ = 0;
  size_t decided_ = 0;
  uint64_t steps_ = 0;
  std::string order_, failure_;
};

Run* active = nullptr;

void Run::Start() {
  Run& run = *active;
  run.threads_[run.current_]->body();
  run.threads_[run.current_]->has_ended = true;
  run.Leave();
}

// Not inlined: a function may return from getcontext twice, for all that the compiler knows.
[[gnu::noinline]] void Run::Prepare(ucontext_t& context, char* stack) {
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = kStackBytes;
  context.uc_link = nullptr;
  makecontext(&context, &Run::Start, 0);
}

void Run::Go() {
  active = this;
  for (size_t i = 0; i < threads_.size(); ++i) Prepare(threads_[i]->context, StackOf(i));
  current_ = static_cast<uint32_t>(threads_.size());  // none yet: all are options
  const uint32_t first = Choose(true);
  current_ = first;
  order_ += static_cast<char>('A' + first);
  swapcontext(&main_, &threads_[first]->context);
  active = nullptr;
}

bool Run::CanGoOn(uint32_t thread) const {
  const Thread& its = *threads_[thread];
  return !its.has_ended && (its.waits_for == nullptr || (*its.waits_for)());
}

// The number of threads if none can go on.
uint32_t Run::Choose(bool leaves) {
  std::array<uint32_t, 8> options{};
  uint32_t count = 0;
  if (!leaves) options.at(count++) = current_;
  if (leaves || preemptions_left_ > 0) {
    for (uint32_t i = 0; i < threads_.size(); ++i) {
      if (i != current_ && CanGoOn(i)) options.at(count++) = i;
    }
  }
  if (count == 0) return static_cast<uint32_t>(threads_.size());
  if (count == 1) return options[0];
  if (decided_ == path_.size()) path_.push_back({0, count});
  CHECK(path_[decided_].options == count);  // a run is the same as long as the decisions are
  const uint32_t chosen = options.at(path_[decided_++].taken);
  if (!leaves && chosen != current_) --preemptions_left_;
  return chosen;
}

void Run::SwitchTo(uint32_t thread) {
  if (++steps_ > kStepsMax) Fail("it goes round in circles");
  if (thread == current_) return;
  const uint32_t before = std::exchange(current_, thread);
  order_ += static_cast<char>('A' + thread);
  swapcontext(&threads_[before]->context, &threads_[thread]->context);
}

// Fair, so that the thread that is waited for has its turn; and no decision, since another order of
// turns changes nothing.
void Run::Yield() {
  const auto count = static_cast<uint32_t>(threads_.size());
  for (uint32_t i = 1; i < count; ++i) {
    const uint32_t next = (current_ + i) % count;
    if (CanGoOn(next)) return SwitchTo(next);
  }
  Point();
}

void Run::WaitFor(const std::function<bool()>& is_free) {
  Point();
  if (is_free()) return;
  threads_[current_]->waits_for = &is_free;
  const uint32_t next = Choose(true);
  if (next == threads_.size()) Fail("a deadlock");
  SwitchTo(next);
  threads_[current_]->waits_for = nullptr;
}

void Run::Leave() {
  const uint32_t next = Choose(true);
  if (next < threads_.size()) {
    current_ = next;
    order_ += static_cast<char>('A' + next);
    setcontext(&threads_[next]->context);
  }
  for (const auto& thread : threads_) {
    if (!thread->has_ended) Fail("a deadlock");
  }
  setcontext(&main_);
}

// Ends the run where it is: what its threads have on their stacks is left there.
void Run::Fail(const std::string& what) {
  if (failure_.empty()) failure_ = what + ", in the order " + order_;
  setcontext(&main_);
}

// The next path that was not taken yet; false if there is none.
bool NextPath(std::vector<Decision>& path) {
  while (!path.empty()) {
    if (++path.back().taken < path.back().options) return true;
    path.pop_back();
  }
  return false;
}

}  // namespace

Exploration Explore(int preemptions_max, const std::function<std::unique_ptr<Scenario>()>& make) {
  Exploration exploration;
  std::vector<Decision> path;
  do {
    auto scenario = make();
    Run run(scenario->Threads(), path, preemptions_max);
    run.Go();
    ++exploration.runs;
    exploration.failure = run.failure();
    if (!exploration.failure.empty()) {
      static_cast<void>(scenario.release());  // its threads have not ended
      return exploration;
    }
    scenario->Finish();
  } while (NextPath(path));
  return exploration;
}

void Point() {
  if (active != nullptr) active->Point();
}
void Yield() {
  if (active != nullptr) active->Yield();
}
void WaitFor(const std::function<bool()>& is_free) {
  if (active != nullptr) active->WaitFor(is_free);
}
void Expect(bool holds, const char* what) {
  if (holds) return;
  CHECK(active != nullptr);
  active->Fail(what);
}
uint32_t ThisThread() { return active != nullptr ? active->current() : 7; }

}  // namespace verbena::interleavings
