#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <utility>

#include "verbena/verbena.h"

namespace examples {

// Returns the value, or exits with the error.
template <class T>
T Must(verbena::ErrorOr<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s: %s\n", NameOf(result.error().code), result.error().text.c_str());
    std::exit(EXIT_FAILURE);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}
inline void Must(const verbena::PostResult& result) {
  if (result) return;
  std::fprintf(stderr, "not posted: %s\n", ToString(result.error()).c_str());
  std::exit(EXIT_FAILURE);
}

// The objects of a simple program: a device with a protection domain, a completion queue and a
// queue pair.
struct Endpoint {
  verbena::Context context = Must(verbena::Context::Open());
  verbena::ProtectionDomain domain = Must(verbena::ProtectionDomain::Allocate(context));
  verbena::CompletionQueue cq = Must(verbena::CompletionQueue::Create(context, 1'024));
  verbena::QueuePair qp = MakeQp();

  [[nodiscard]] verbena::QueuePair MakeQp() const {
    return Must(verbena::QueuePair::Create(domain, {.send_cq = &cq, .receive_cq = &cq}));
  }

  [[nodiscard]] verbena::MemoryRegion Register(std::span<std::byte> bytes,
                                               verbena::Access access) const {
    return Must(verbena::MemoryRegion::Register(domain, bytes, access));
  }

  // Connects the queue pair to that of the other program, which must make the same call.
  [[nodiscard]] bool Connect(const verbena::Rendezvous& rendezvous) {
    return rendezvous.ConnectQp(qp).has_value();
  }

  // The next completion; nullopt after 20 seconds, or if polling fails.
  [[nodiscard]] std::optional<verbena::Completion> Wait() const {
    using Clock = std::chrono::steady_clock;
    verbena::Completion completion;
    for (const auto end = Clock::now() + std::chrono::seconds(20); Clock::now() < end;) {
      const auto count = cq.Poll({&completion, 1});
      if (!count) return std::nullopt;
      if (*count > 0) return completion;
    }
    return std::nullopt;
  }
  [[nodiscard]] bool WaitSuccess() const {
    const auto completion = Wait();
    return completion && completion->ok();
  }
};

}  // namespace examples
