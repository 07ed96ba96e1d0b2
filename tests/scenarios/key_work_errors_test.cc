// Binds, registrations and invalidations that the tables refuse. The refusal names the check; the
// completion status is the same for all.

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "tests/scenarios/error_fixture.h"
#include "tests/support/memory_fixture.h"

namespace verbena::scenario {
namespace {

using memory::FailsWith;
using memory::Refusal;
using queue::SendOpcode;

// A refused bind: a window of A, possibly bound before, and a region to bind it to.
struct BindRow {
  const char* name;
  Refusal refusal;
  WindowType type;
  void (*change)(Key& window, memory::WindowBinding& binding, ErrorTest& t);

  friend void PrintTo(const BindRow& row, std::ostream* out) { *out << row.name; }
};

const BindRow kBindRows[] = {
    {"NoWindow", Refusal::kNoSuchKey, WindowType::k1,
     [](Key& window, memory::WindowBinding&, ErrorTest& t) {
       window = ErrorTest::NoKey(t.node_a_);
     }},
    {"WindowIsARegion", Refusal::kWrongType, WindowType::k1,
     [](Key& window, memory::WindowBinding&, ErrorTest& t) { window = t.node_a_.keys.remote; }},
    {"OldKeyOfTheWindow", Refusal::kStaleVariant, WindowType::k1,
     [](Key& window, memory::WindowBinding&, ErrorTest&) {
       window = ErrorTest::OtherVariant(window);
     }},
    {"BoundAlready", Refusal::kStillInUse, WindowType::k2A,
     [](Key& window, memory::WindowBinding& binding, ErrorTest& t) {
       const auto bound = t.node_a_.core.windows.Bind(window, binding, t.a().who);
       ASSERT_TRUE(bound.has_value());
       window = *bound;
     }},
    {"SameVariant", Refusal::kSameVariant, WindowType::k1,
     [](Key& window, memory::WindowBinding& binding, ErrorTest&) {
       binding.variant = window.variant();
     }},
    {"Type2ToNothing", Refusal::kOutOfRange, WindowType::k2A,
     [](Key&, memory::WindowBinding& binding, ErrorTest&) { binding.length = 0; }},
    {"BeyondTheRegion", Refusal::kOutOfRange, WindowType::k1,
     [](Key&, memory::WindowBinding& binding, ErrorTest& t) {
       binding.length = t.node_a_.arena.size() + 1;
     }},
    {"NoRegion", Refusal::kNoSuchKey, WindowType::k1,
     [](Key&, memory::WindowBinding& binding, ErrorTest& t) {
       binding.region = ErrorTest::NoKey(t.node_a_);
     }},
    {"RegionTakesNoWindows", Refusal::kNotBindable, WindowType::k1,
     [](Key&, memory::WindowBinding& binding, ErrorTest& t) {
       binding.region = t.node_a_
                            .Register({.pd = t.node_a_.pd,
                                       .start = binding.start,
                                       .length = ErrorTest::kPage,
                                       .rights = Access::kLocalRead | Access::kLocalWrite},
                                      0)
                            ->local;
     }},
    {"LocalRights", Refusal::kRightsTooWide, WindowType::k1,
     [](Key&, memory::WindowBinding& binding, ErrorTest&) { binding.rights = Access::kLocalRead; }},
    {"MoreThanTheOwnerMay", Refusal::kRightsTooWide, WindowType::k1,
     [](Key&, memory::WindowBinding& binding, ErrorTest& t) {
       binding.region = t.node_a_
                            .Register({.pd = t.node_a_.pd,
                                       .start = binding.start,
                                       .length = ErrorTest::kPage,
                                       .rights = Access::kLocalRead | Access::kWindowBind},
                                      0)
                            ->local;
     }},
};

// Checks that the completion of a work request names the refusing check.
class KeyWorkTest : public ErrorTest {
 protected:
  void ExpectRefused(CompletionStatus status, Refusal refusal) {
    const auto sent = a().Sent();
    ASSERT_EQ(StatusesOf(sent), std::vector{status});
    EXPECT_EQ(sent[0].vendor_error, transport::VendorErrorOf(refusal));
    RefusalCounters expected;
    transport::CountRefusal({refusal, transport::RefusedKey::kOwn}, &expected);
    EXPECT_EQ(node_a_.refusals.local, expected.local);
  }
};

class BindErrorTest : public KeyWorkTest, public testing::WithParamInterface<BindRow> {};

TEST_P(BindErrorTest, CompletesWithABindError) {
  Begin();
  Key window = *node_a_.core.windows.Allocate(node_a_.pd, GetParam().type);
  memory::WindowBinding binding{
      .region = node_a_.keys.local,
      .start = KeyAddress(RcNode::kBase),
      .length = 64,
      .rights = Access::kRemoteWrite,
      .variant = KeyVariant(static_cast<uint8_t>(window.variant().value() + 1))};
  GetParam().change(window, binding, *this);
  EXPECT_TRUE(FailsWith(node_a_.core.windows.Bind(window, binding, a().who), GetParam().refusal));

  const queue::WindowBind bind{.window = window,
                               .region = binding.region,
                               .start = binding.start.value(),
                               .length = binding.length,
                               .variant = *binding.variant,
                               .rights = binding.rights};
  net_.Post(a(), RequestOf(1, SendOpcode::kBindWindow, bind), {});
  ASSERT_TRUE(net_.RunUntilIdle());
  ExpectRefused(CompletionStatus::kWindowBindError, GetParam().refusal);
  EXPECT_EQ(a().qp->state(), QpState::kErr);
  EXPECT_EQ(b().qp->state(), QpState::kRts);
  EXPECT_EQ(requests_, 0u);
  ExpectFlushes(a());
}

INSTANTIATE_TEST_SUITE_P(Rows, BindErrorTest, testing::ValuesIn(kBindRows),
                         [](const auto& row) { return std::string(row.param.name); });

// A reserved key for two pages, and one page to register under it.
struct RegisterCase {
  Key key;
  memory::RegionSpec spec;
  std::vector<memory::PhysicalAddress> pages;
  uint64_t first_offset = 0;
};

struct RegisterRow {
  const char* name;
  Refusal refusal;
  void (*change)(RegisterCase& it, ErrorTest& t);

  friend void PrintTo(const RegisterRow& row, std::ostream* out) { *out << row.name; }
};

// Registers the key, so that it is in use.
void RegisterOnce(RegisterCase& it, ErrorTest& t) {
  memory::MemoryCore& core = t.node_a_.core;
  ASSERT_TRUE(
      core.regions.RegisterReserved(it.key, it.spec, {.pages = it.pages}, t.a().who).has_value());
}

const RegisterRow kRegisterRows[] = {
    {"NoKey", Refusal::kNoSuchKey,
     [](RegisterCase& it, ErrorTest& t) { it.key = ErrorTest::NoKey(t.node_a_); }},
    {"OrdinaryRegion", Refusal::kWrongType,
     [](RegisterCase& it, ErrorTest& t) { it.key = t.node_a_.keys.local; }},
    {"ForeignDomain", Refusal::kWrongDomain,
     [](RegisterCase& it, ErrorTest& t) {
       memory::MemoryCore& core = t.node_a_.core;
       const auto other = core.domains.Allocate(*core.consumers.Open({}));
       it.key = core.regions.Reserve(*other, 2, PageShift(12))->local;
     }},
    {"StillRegistered", Refusal::kStillInUse, &RegisterOnce},
    {"SameVariant", Refusal::kSameVariant,
     [](RegisterCase& it, ErrorTest& t) {
       RegisterOnce(it, t);
       ASSERT_TRUE(
           t.node_a_.core.Invalidate(it.key, memory::Origin::kLocal, t.a().who).has_value());
     }},
    {"NotTheReservedVariant", Refusal::kStaleVariant,
     [](RegisterCase& it, ErrorTest&) { it.key = ErrorTest::OtherVariant(it.key); }},
    {"Wraps", Refusal::kWraps,
     [](RegisterCase& it, ErrorTest&) { it.spec.start = KeyAddress(UINT64_MAX - 10); }},
    {"ZeroBasedElsewhere", Refusal::kOutOfRange,
     [](RegisterCase& it, ErrorTest&) { it.spec.zero_based = true; }},
    {"RemoteWriteWithoutLocal", Refusal::kRightsTooWide,
     [](RegisterCase& it, ErrorTest&) { it.spec.rights = Access::kRemoteWrite; }},
    {"ListTooShort", Refusal::kBadPageList,
     [](RegisterCase& it, ErrorTest&) { it.spec.length = ErrorTest::kPage + 1; }},
    {"BeginsBeyondTheFirstPage", Refusal::kBadPageList,
     [](RegisterCase& it, ErrorTest&) { it.first_offset = ErrorTest::kPage; }},
    {"MorePagesThanReserved", Refusal::kTooManyPages,
     [](RegisterCase& it, ErrorTest& t) {
       it.spec.length = 3 * ErrorTest::kPage;
       it.pages.assign(3, t.node_a_.Physical(0));
     }},
};

class RegisterErrorTest : public KeyWorkTest, public testing::WithParamInterface<RegisterRow> {};

TEST_P(RegisterErrorTest, CompletesWithAnOperationError) {
  Begin();
  RegisterCase it{.key = node_a_.core.regions.Reserve(node_a_.pd, 2, PageShift(12))->local,
                  .spec = {.pd = node_a_.pd,
                           .start = KeyAddress(RcNode::kBase),
                           .length = ErrorTest::kPage,
                           .rights = Access::kLocalRead},
                  .pages = {node_a_.Physical(0)}};
  GetParam().change(it, *this);
  const auto refused = node_a_.core.regions.RegisterReserved(
      it.key, it.spec, {.pages = it.pages, .first_offset = it.first_offset}, a().who);
  EXPECT_TRUE(FailsWith(refused, GetParam().refusal));

  const queue::RegistrationOperand registration{.key = it.key,
                                                .rights = it.spec.rights,
                                                .page_shift = 12,
                                                .zero_based = it.spec.zero_based,
                                                .start = it.spec.start.value(),
                                                .length = it.spec.length,
                                                .first_offset = it.first_offset};
  std::vector<uint64_t> pages;
  for (const memory::PhysicalAddress page : it.pages) pages.push_back(page.value());
  net_.Post(a(), {.wqe = RequestOf(1, SendOpcode::kRegister, registration), .pages = pages});
  ASSERT_TRUE(net_.RunUntilIdle());
  ExpectRefused(CompletionStatus::kLocalQpOperationError, GetParam().refusal);
  EXPECT_EQ(a().qp->state(), QpState::kErr);
  EXPECT_EQ(b().qp->state(), QpState::kRts);
  EXPECT_EQ(requests_, 0u);
  ExpectFlushes(a());
}

INSTANTIATE_TEST_SUITE_P(Rows, RegisterErrorTest, testing::ValuesIn(kRegisterRows),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_F(ErrorTest, AnUnsupportedPageSizeIsAnOperationError) {
  Begin();
  const Key key = node_a_.core.regions.Reserve(node_a_.pd, 2, PageShift(12))->local;
  for (const uint8_t shift : {uint8_t{11}, uint8_t{29}}) {
    const queue::RegistrationOperand registration{.key = key, .page_shift = shift};
    net_.Post(a(), RequestOf(1, SendOpcode::kRegister, registration), {});
    ASSERT_TRUE(net_.RunUntilIdle());
    EXPECT_EQ(StatusesOf(a().Sent()), std::vector{CompletionStatus::kLocalQpOperationError});
    Begin();
  }
}

}  // namespace
}  // namespace verbena::scenario
