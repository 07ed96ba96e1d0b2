#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/rc_net.h"
#include "tests/support/rc_requests.h"
#include "wire/roce/aeth.h"
#include "wire/roce/timer_codes.h"

namespace verbena::scenario {
using wire::Operation;

inline std::vector<uint64_t> IdsOf(const std::vector<Completion>& completions) {
  std::vector<uint64_t> ids;
  for (const auto& completion : completions) ids.push_back(completion.id.value());
  return ids;
}
inline std::vector<CompletionStatus> StatusesOf(const std::vector<Completion>& completions) {
  std::vector<CompletionStatus> statuses;
  for (const auto& completion : completions) statuses.push_back(completion.status);
  return statuses;
}

// Two machines of 16 pages with a connection: A is the requester, B the responder.
class PairTest : public testing::Test {
 protected:
  static constexpr size_t kPages = 16;
  static constexpr uint64_t kPage = RcNode::kPage;

  PairTest() : node_a_(net_.AddNode(kPages)), node_b_(net_.AddNode(kPages)) {
    for (size_t i = 0; i < node_a_.arena.size(); ++i) {
      *node_a_.At(i) = static_cast<std::byte>(i % 251);
      *node_b_.At(i) = static_cast<std::byte>(255 - i % 251);
    }
  }
  ~PairTest() override {
    EXPECT_TRUE(node_a_.core.IsConsistent());
    EXPECT_TRUE(node_b_.core.IsConsistent());
  }

  void Connect(const RcSpec& spec_a = {}, const RcSpec& spec_b = {}) {
    const auto [a, b] = net_.Connect(node_a_, node_b_, spec_a, spec_b);
    a_ = &a;
    b_ = &b;
  }
  RcEnd& a() { return *a_; }
  RcEnd& b() { return *b_; }

  // Binds a window of B to `length` bytes from `offset` on, by B's queue pair.
  Key BindWindow(WindowType type, uint64_t offset, uint64_t length, Access rights) {
    const Key window = *node_b_.core.windows.Allocate(node_b_.pd, type);
    const auto bound = node_b_.core.windows.Bind(
        window,
        {.region = node_b_.keys.local,
         .start = KeyAddress(RcNode::kBase + offset),
         .length = length,
         .rights = rights,
         .variant = KeyVariant(static_cast<uint8_t>(window.variant().value() + 1))},
        b_->who);
    EXPECT_TRUE(bound.has_value());
    return *bound;
  }

  // Expects successful completions with these ids, in order.
  static void ExpectSuccess(const std::vector<Completion>& completions,
                            const std::vector<uint64_t>& ids) {
    EXPECT_EQ(IdsOf(completions), ids);
    for (const auto& completion : completions) {
      EXPECT_EQ(completion.status, CompletionStatus::kSuccess) << NameOf(completion.status);
    }
  }

  RcNet net_;
  RcNode& node_a_;
  RcNode& node_b_;
  RcEnd* a_ = nullptr;
  RcEnd* b_ = nullptr;
};

// The syndrome of an acknowledgement; nullopt for other packets.
inline std::optional<wire::Syndrome> SyndromeOf(const Passing& passing) {
  if (!passing.Is(Operation::kAcknowledge)) return std::nullopt;
  return passing.packet.Get<wire::Aeth>()->syndrome;
}
inline bool IsRnrNak(const Passing& passing) {
  const auto syndrome = SyndromeOf(passing);
  return syndrome && syndrome->kind() == wire::Syndrome::Kind::kRnrNak;
}

}  // namespace verbena::scenario
