#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>

// Resources that the system can refuse, and injection of such failures: failures.cc replaces the
// functions of the C library that allocate them, for the whole program that it is linked into.

namespace verbena::survival {

enum class Resource : uint8_t {
  kMemory,      // operator new, calloc, mmap
  kDescriptor,  // open, socket, eventfd, ...
  kThread,      // pthread_create
};
[[nodiscard]] const char* NameOf(Resource resource);

enum class Whose : uint8_t {
  kThisThread,
  kOtherThreads,
};

// While the object lives, the n-th request for the resource fails, counted from 1.
//
// At most one object at a time.
class Failing {
 public:
  Failing(Resource resource, size_t n, Whose whose = Whose::kThisThread);
  Failing(const Failing&) = delete;
  Failing& operator=(const Failing&) = delete;
  ~Failing() { Stop(); }

  // Ends the injection; true if the n-th request came, and failed.
  bool Stop();
};

// The resources that the process holds.
struct Held {
  size_t bytes = 0;
  size_t descriptors = 0;
  size_t threads = 0;

  [[nodiscard]] static Held Now();
  friend bool operator==(const Held&, const Held&) = default;
};
std::ostream& operator<<(std::ostream& out, const Held& held);

}  // namespace verbena::survival
