#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/adapter_world.h"
#include "verbena/verbena.h"

namespace verbena {

// The value of the result; the test fails if it is an error.
template <class T>
T Good(ErrorOr<T> result) {
  EXPECT_TRUE(result.has_value()) << result.error().text;
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

template <class T>
std::optional<ErrorCode> CodeOf(const ErrorOr<T>& result) {
  if (result) return std::nullopt;
  EXPECT_FALSE(result.error().text.empty());
  return result.error().code;
}
template <class T>
std::optional<ErrorCode> CodeOf(const CodeOr<T>& result) {
  return result ? std::nullopt : std::optional(result.error());
}
inline std::optional<ErrorCode> CodeOf(const PostResult& result) {
  return result ? std::nullopt : std::optional(result.error().code());
}
inline std::optional<PostError> ErrorOf(const PostResult& result) {
  return result ? std::nullopt : std::optional(result.error());
}

// Two contexts with these options have an adapter each.
inline Options VerbsTestOptions() {
  Options options;
  options.base_port = options.endpoint_base_port = adapter::TestBasePort();
  options.endpoints_max = adapter::kTestEndpoints;
  options.dedicated_adapter = true;
  return options;
}
// Two contexts with these options share an adapter.
inline Options SharedAdapterOptions() {
  Options options = VerbsTestOptions();
  options.dedicated_adapter = false;
  return options;
}

// A program with an open device, a protection domain, a completion queue and a region.
struct VerbsNode {
  explicit VerbsNode(const char* address = "127.0.0.1", const Options& options = VerbsTestOptions())
      : gid(*ParseGid(address)), context(Good(Context::Open(options))) {}

  [[nodiscard]] QueuePair MakeQp(QpType type = QpType::kRc) const {
    return Good(QueuePair::Create(domain, Spec(type)));
  }
  [[nodiscard]] QpSpec Spec(QpType type = QpType::kRc) const {
    return {.type = type,
            .send_cq = &cq,
            .receive_cq = &cq,
            .send = {.capacity = 64, .sges_max = 4, .inline_max = 128, .pages_max = 16},
            .receive = {.capacity = 64, .sges_max = 4}};
  }

  void Fill(size_t offset, size_t length, uint8_t seed) {
    for (size_t i = 0; i < length; ++i) memory[offset + i] = static_cast<std::byte>(seed + i * 7);
  }
  [[nodiscard]] bool Holds(size_t offset, size_t length, uint8_t seed) const {
    for (size_t i = 0; i < length; ++i) {
      if (memory[offset + i] != static_cast<std::byte>(seed + i * 7)) return false;
    }
    return true;
  }

  // The next completion; nullopt after 20 s.
  [[nodiscard]] std::optional<Completion> Wait(const CompletionQueue* from = nullptr) const {
    const Time end = Now() + Seconds(20);
    std::array<Completion, 1> out;
    while (Now() < end) {
      const auto count = (from != nullptr ? *from : cq).Poll(out);
      if (!count) return std::nullopt;
      if (*count > 0) return out[0];
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<CompletionStatus> WaitStatus() const {
    const auto completion = Wait();
    return completion ? std::optional(completion->status) : std::nullopt;
  }

  Gid gid;
  std::vector<std::byte> memory = std::vector<std::byte>(1 << 16);
  Context context;
  ProtectionDomain domain = Good(ProtectionDomain::Allocate(context));
  CompletionQueue cq = Good(CompletionQueue::Create(context, 256));
  MemoryRegion region = Good(MemoryRegion::Register(domain, memory, Access::kAll));
};

inline void ConnectPair(const VerbsNode& a, QueuePair& qa, const VerbsNode& b, QueuePair& qb,
                        const ConnectSettings& settings = {}) {
  // The PSNs differ, and one of them wraps soon.
  const QpAddress at_a{qa.number(), a.gid, Psn{0xFFFFF0}};
  const QpAddress at_b{qb.number(), b.gid, Psn{77}};
  Good(qa.Connect(at_a, at_b, settings));
  Good(qb.Connect(at_b, at_a, settings));
}

// Two programs, each with a device of its own, and a connection between them.
class VerbsPairTest : public testing::Test {
 protected:
  void SetUp() override { ConnectPair(a_, qa_, b_, qb_); }

  VerbsNode a_, b_;
  QueuePair qa_ = a_.MakeQp();
  QueuePair qb_ = b_.MakeQp();
};

}  // namespace verbena
