#include "queue/work_request.h"

#include <array>
#include <optional>
#include <span>
#include <utility>

#include <gtest/gtest.h>

namespace verbena::queue {
namespace {

constexpr WorkQueueLimits kLimits{.capacity = 4, .sges_max = 2, .inline_max = 16, .pages_max = 3};

// Every opcode with the operand it needs.
const std::array<std::pair<SendOpcode, SendOperand>, kSendOpcodeCount> kGood = {{
    {SendOpcode::kSend, std::monostate{}},
    {SendOpcode::kSendWithImmediate, std::monostate{}},
    {SendOpcode::kSendWithInvalidate, std::monostate{}},
    {SendOpcode::kWrite, RemoteAddress{}},
    {SendOpcode::kWriteWithImmediate, RemoteAddress{}},
    {SendOpcode::kRead, RemoteAddress{}},
    {SendOpcode::kCompareAndSwap, Atomic{}},
    {SendOpcode::kFetchAndAdd, Atomic{}},
    {SendOpcode::kAtomicWrite, RemoteAddress{}},
    {SendOpcode::kFlush, FlushOperand{}},
    {SendOpcode::kBindWindow, WindowBind{}},
    {SendOpcode::kLocalInvalidate, std::monostate{}},
    {SendOpcode::kRegister, RegistrationOperand{}},
    {SendOpcode::kRegisterAndSend, RegistrationOperand{}},
    {SendOpcode::kDelay, DelayOperand{}},
}};

std::optional<PostError> Check(SendOpcode opcode, const SendOperand& operand,
                               std::span<const Sge> sges = {}, bool inlined = false,
                               std::span<const uint64_t> pages = {}) {
  const SendWqe wqe{.opcode = opcode, .flags = {.inlined = inlined}, .operand = operand};
  return Validate(SendWorkRequest{wqe, sges, pages}, kLimits);
}

TEST(WorkRequestTest, TheOpcodeDeterminesTheOperand) {
  for (const auto& [opcode, operand] : kGood) {
    for (const auto& [other, other_operand] : kGood) {
      const bool fits = operand.index() == other_operand.index();
      EXPECT_EQ(Check(opcode, other_operand),
                fits ? std::nullopt : std::optional(PostReason::kBadOperand))
          << NameOf(opcode) << " with the operand of " << NameOf(other);
    }
  }
}

TEST(WorkRequestTest, DatagramsAreSends) {
  EXPECT_EQ(Check(SendOpcode::kSend, Datagram{}), std::nullopt);
  EXPECT_EQ(Check(SendOpcode::kSendWithImmediate, Datagram{}), std::nullopt);
  EXPECT_EQ(Check(SendOpcode::kSendWithInvalidate, Datagram{}), PostReason::kBadOperand);
  EXPECT_EQ(Check(SendOpcode::kWrite, Datagram{}), PostReason::kBadOperand);
}

TEST(WorkRequestTest, AnUnknownOpcodeIsRefused) {
  EXPECT_EQ(Check(static_cast<SendOpcode>(kSendOpcodeCount), {}), PostReason::kBadOpcode);
  EXPECT_EQ(Check(static_cast<SendOpcode>(255), {}), PostReason::kBadOpcode);
}

TEST(WorkRequestTest, SgesUpToTheLimit) {
  const std::array<Sge, 3> sges{};
  const std::span<const Sge> all = sges;
  EXPECT_EQ(Check(SendOpcode::kSend, {}, all.first(2)), std::nullopt);
  EXPECT_EQ(Check(SendOpcode::kSend, {}, all), PostReason::kTooManySges);
  EXPECT_EQ(Validate(ReceiveWorkRequest{{}, all.first(2)}, kLimits), std::nullopt);
  EXPECT_EQ(Validate(ReceiveWorkRequest{{}, all}, kLimits), PostReason::kTooManySges);
}

TEST(WorkRequestTest, OnlyPayloadIsInlined) {
  for (const auto& [opcode, operand] : kGood) {
    const bool allowed = PropertiesOf(opcode).carries_payload;
    EXPECT_EQ(Check(opcode, operand, {}, true),
              allowed ? std::nullopt : std::optional(PostReason::kInlineNotAllowed))
        << NameOf(opcode);
  }
}

TEST(WorkRequestTest, PagesOnlyWithARegistration) {
  const std::array<uint64_t, 4> pages{};
  const std::span<const uint64_t> all = pages;
  EXPECT_EQ(Check(SendOpcode::kRegister, RegistrationOperand{}, {}, false, all.first(3)),
            std::nullopt);
  EXPECT_EQ(Check(SendOpcode::kRegister, RegistrationOperand{}, {}, false, all),
            PostReason::kTooManyPages);
  EXPECT_EQ(Check(SendOpcode::kSend, {}, {}, false, all.first(1)), PostReason::kTooManyPages);
}

TEST(WorkRequestTest, AnErrorHasTheValueAndTheLimit) {
  const std::array<Sge, 3> sges{};
  const std::array<uint64_t, 4> pages{};
  EXPECT_EQ(Check(SendOpcode::kSend, {}, sges),
            (PostError{.reason = PostReason::kTooManySges, .given = 3, .limit = 2}));
  EXPECT_EQ(Check(SendOpcode::kRegister, RegistrationOperand{}, {}, false, pages),
            (PostError{.reason = PostReason::kTooManyPages, .given = 4, .limit = 3}));
}

}  // namespace
}  // namespace verbena::queue
