#include "transport/common/local_work.h"

#include <array>

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

using queue::SendOpcode;

class LocalWorkTest : public testing::Test {
 protected:
  CompletionStatus Execute(SendOpcode opcode, const queue::SendOperand& operand,
                           Key invalidate = {}) {
    queue::SendWqe wqe;
    wqe.opcode = opcode;
    wqe.operand = operand;
    wqe.invalidate = invalidate;
    Step step{.now = {}, .memory = core_, .outbox = outbox_, .refusals = &refusals_};
    const LocalOutcome outcome = ExecuteLocally(wqe, pages_, who_, step);
    vendor_error_ = outcome.vendor_error;
    return outcome.status;
  }
  bool MayRead(Key key, uint64_t address) const {
    return memory::AsReady(core_.translator.Translate(
               key, KeyAddress(address), 1, memory::AccessKind::kRemoteRead, who_)) != nullptr;
  }
  queue::RegistrationOperand Registration(Key key) const {
    return {.key = key,
            .rights = (Access::kLocalRead | Access::kRemoteRead),
            .page_shift = 12,
            .start = 0x5000,
            .length = 8192};
  }

  memory::MemoryCore core_;
  Outbox outbox_{1};
  RefusalCounters refusals_;
  VendorError vendor_error_ = 0;  // of the last
  memory::PdId pd_ = *core_.domains.Allocate(*core_.consumers.Open({}));
  memory::Accessor who_{pd_, QpNumber(1)};
  std::array<memory::PhysicalAddress, 2> pages_{memory::PhysicalAddress(0x10000),
                                                memory::PhysicalAddress(0x30000)};
};

TEST_F(LocalWorkTest, ARegionIsRegisteredInvalidatedAndRegisteredAgain) {
  const Key key = core_.regions.Reserve(pd_, 2, PageShift(12))->local;
  EXPECT_EQ(Execute(SendOpcode::kRegister, Registration(key)), CompletionStatus::kSuccess);
  EXPECT_TRUE(MayRead(key, 0x5000));
  EXPECT_EQ(Execute(SendOpcode::kRegister, Registration(key)),
            CompletionStatus::kLocalQpOperationError);
  EXPECT_EQ(Execute(SendOpcode::kLocalInvalidate, {}, key), CompletionStatus::kSuccess);
  EXPECT_FALSE(MayRead(key, 0x5000));
  EXPECT_EQ(Execute(SendOpcode::kLocalInvalidate, {}, key),
            CompletionStatus::kLocalProtectionError);
  const Key next(key.index(), KeyVariant(static_cast<uint8_t>(key.value() + 1)));
  EXPECT_EQ(Execute(SendOpcode::kRegisterAndSend, Registration(next)), CompletionStatus::kSuccess);
  EXPECT_TRUE(MayRead(next, 0x5000));
}

TEST_F(LocalWorkTest, AWindowIsBoundOrTheBindFails) {
  const memory::RegionSpec spec{.pd = pd_,
                                .start = KeyAddress(0x5000),
                                .length = 8192,
                                .rights = Access::kLocalRead | Access::kWindowBind};
  const auto region = core_.regions.Register(spec, memory::PageListBacking{.pages = pages_});
  const Key window = *core_.windows.Allocate(pd_, WindowType::k2B);
  queue::WindowBind bind{.window = window,
                         .region = region->local,
                         .start = 0x5001,
                         .length = 5,
                         .variant = NextKey(window).variant(),
                         .rights = Access::kRemoteRead};
  EXPECT_EQ(Execute(SendOpcode::kBindWindow, bind), CompletionStatus::kSuccess);
  EXPECT_TRUE(MayRead(Key(window.index(), bind.variant), 0x5005));
  bind.rights = Access::kRemoteWrite;
  EXPECT_EQ(Execute(SendOpcode::kBindWindow, bind), CompletionStatus::kWindowBindError);
}

TEST_F(LocalWorkTest, ARefusalReportsItsCheckAndIsCounted) {
  const Key key = core_.regions.Reserve(pd_, 2, PageShift(12))->local;
  EXPECT_EQ(Execute(SendOpcode::kRegister, Registration(key)), CompletionStatus::kSuccess);
  EXPECT_EQ(vendor_error_, 0);
  const Key stale(key.index(), KeyVariant(static_cast<uint8_t>(key.value() + 1)));
  EXPECT_EQ(Execute(SendOpcode::kLocalInvalidate, {}, stale),
            CompletionStatus::kLocalProtectionError);
  EXPECT_EQ(vendor_error_, 'd');
  EXPECT_EQ(refusals_.local['d' - kFirstCheck], 1U);
  EXPECT_EQ(refusals_.remote, RefusalCounters().remote);
  EXPECT_EQ(Execute(SendOpcode::kRegister, Registration(key)),
            CompletionStatus::kLocalQpOperationError);
  EXPECT_EQ(vendor_error_, 0) << "still registered, which is none of the lettered checks";
}

TEST_F(LocalWorkTest, AnImpossiblePageSizeIsRefused) {
  queue::RegistrationOperand registration = Registration(Key(0x100));
  for (const uint8_t shift : std::to_array<uint8_t>({0, 11, 29, 255})) {
    registration.page_shift = shift;
    EXPECT_EQ(Execute(SendOpcode::kRegister, registration),
              CompletionStatus::kLocalQpOperationError);
  }
}

TEST_F(LocalWorkTest, RequestsWithPacketsHaveNoLocalPart) {
  EXPECT_EQ(Execute(SendOpcode::kSend, {}), CompletionStatus::kSuccess);
  EXPECT_EQ(Execute(SendOpcode::kDelay, queue::DelayOperand{}), CompletionStatus::kSuccess);
}

}  // namespace
}  // namespace verbena::transport
