#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>

// What the system can refuse, and how to have it refused: failures.cc has functions of its own in
// the place of those of the C library that hand it out. One source file of a program, and then it
// is so for the whole program.

namespace verbena::survival {

enum class Resource : uint8_t {
  kMemory,      // operator new, calloc, mmap
  kDescriptor,  // open, socket, eventfd and so on
  kThread,      // pthread_create
};
[[nodiscard]] const char* NameOf(Resource resource);

enum class Whose : uint8_t {
  kThisThread,
  kOtherThreads,
};

// While it is, the n-th request for the resource fails, counted from 1.
//
// One at a time.
class Failing {
 public:
  Failing(Resource resource, size_t n, Whose whose = Whose::kThisThread);
  Failing(const Failing&) = delete;
  Failing& operator=(const Failing&) = delete;
  ~Failing() { Stop(); }

  // Has it happened? Nothing fails any more.
  bool Stop();
};

// What the process has now.
struct Held {
  size_t bytes = 0;
  size_t descriptors = 0;
  size_t threads = 0;

  [[nodiscard]] static Held Now();
  friend bool operator==(const Held&, const Held&) = default;
};
std::ostream& operator<<(std::ostream& out, const Held& held);

}  // namespace verbena::survival
