#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "adapter/cm/port_registry.h"
#include "base/check.h"
#include "tests/support/test_ports.h"

namespace verbena::adapter {

// A RoCEv2 port that only this test program and its children use.
inline const uint16_t kTestBasePort = kFirstTestPort + 200;

inline std::unique_ptr<PortRegistry> OpenTestSpace(uint64_t seed = 1) {
  auto space = PortRegistry::Open({.base_port = kTestBasePort, .seed = seed});
  CHECK(space.has_value());
  return std::move(*space);
}

// The errno of a claim; 0 if it succeeded.
template <class T>
int ErrnoOf(const ErrorOr<T>& result) {
  return result ? 0 : result.error().os_error;
}

// Whether the body returns true in a child process.
inline bool IsTrueInChild(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 0;
}

// Another process that holds a claim until it is killed.
class ClaimingProcess {
 public:
  explicit ClaimingProcess(const PortRequest& request) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    child_ = fork();
    if (child_ == 0) Live(request, ends[1]);
    CHECK(read(ends[0], &answer_, sizeof answer_) == sizeof answer_);
    close(ends[0]);
    close(ends[1]);
  }
  ClaimingProcess(const ClaimingProcess&) = delete;
  ClaimingProcess& operator=(const ClaimingProcess&) = delete;
  ~ClaimingProcess() { Kill(); }

  void Kill() {
    if (child_ == 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = 0;
  }
  [[nodiscard]] int error() const { return answer_.error; }
  [[nodiscard]] uint16_t port() const { return answer_.port; }

 private:
  struct Answer {
    int error = 0;
    uint16_t port = 0;
  };

  [[noreturn]] static void Live(const PortRequest& request, int out) {
    const auto space = OpenTestSpace(static_cast<uint64_t>(getpid()));
    const auto claim = space->Claim(request);
    const Answer answer{.error = ErrnoOf(claim), .port = claim ? claim->port() : uint16_t{0}};
    if (write(out, &answer, sizeof answer) != sizeof answer) _exit(1);
    while (true) pause();
  }

  pid_t child_ = 0;
  Answer answer_;
};

}  // namespace verbena::adapter
