// The lettered checks: if several fail, the first letter is the result.

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "memory/protection/translator.h"
#include "tests/support/memory_fixture.h"

namespace verbena::memory {
namespace {

constexpr uint64_t kBase = 0x100000;
constexpr uint64_t kLength = 64;
constexpr std::string_view kLetters = "abcdefg";

// A valid access and its entry, which tests then change.
struct Subject {
  AccessKind access;
  Key key;
  uint64_t address = kBase;
  uint64_t length = 8;
  Accessor who;
};

class TranslatorChecksTest : public MemoryFixture {
 protected:
  TranslatorChecksTest() { region_ = LinearRegion(kBase, kLength); }

  Key BindWindow(WindowType type) {
    const auto bound = core_.windows.Bind(*core_.windows.Allocate(pd_, type),
                                          {.region = region_.local,
                                           .start = KeyAddress(kBase),
                                           .length = kLength,
                                           .rights = Access::kRemote,
                                           .variant = KeyVariant(3)},
                                          me_);
    EXPECT_TRUE(Succeeds(bound));
    return *bound;
  }
  Key BeginTask(bool reads) {
    const auto pages = Pages({kBase});
    const TaskSpec spec{.pd = pd_, .length = kLength, .reads = reads};
    return *core_.tasks.Begin(spec, PageListBacking{pages, 0, kSmall});
  }

  static bool HasCheck(AccessKind access, char letter) {
    const bool has_purpose =
        access == AccessKind::kBind || TraitsOf(access).origin == Origin::kTask;
    if (letter == 'f') return access != AccessKind::kBind;  // binding has check g instead
    return letter != 'g' || has_purpose;
  }

  // Makes only this check fail.
  static void Violate(char letter, Subject& subject, ProtectionEntry& entry) {
    const AccessTraits traits = TraitsOf(subject.access);
    switch (letter) {
      case 'a':
        entry.state = EntryState::kReserved;
        break;
      case 'b':
        entry.type = traits.origin == Origin::kTask ? EntryType::kRegion : EntryType::kTask;
        break;
      case 'c':
        entry.pd = PdId(12345);
        break;
      case 'd':
        subject.key = Key(subject.key.value() ^ 0x55);
        break;
      case 'e':
        subject.address += kLength;
        break;
      case 'f':
        entry.rights = entry.rights.Without(traits.right);
        break;
      case 'g':
        entry.rights = entry.rights.Without(Access::kWindowBind);
        if (traits.origin == Origin::kTask) entry.task.command_reads = !entry.task.command_reads;
        break;
    }
  }

  Translation Ask(const Subject& subject) const {
    return core_.translator.Translate(subject.key, KeyAddress(subject.address), subject.length,
                                      subject.access, subject.who);
  }

  // Violates every subset of the checks of one access, and expects the lowest letter each time.
  void ExpectLowestLetterWins(const Subject& faultless) {
    ProtectionEntry& entry = EntryOf(faultless.key);
    const ProtectionEntry before = entry;
    for (unsigned subset = 0; subset < 1u << kLetters.size(); ++subset) {
      Subject subject = faultless;
      std::string violated;
      for (size_t i = 0; i < kLetters.size(); ++i) {
        if ((subset >> i & 1) != 0) violated += kLetters[i];
      }
      const auto applies = [&](char letter) { return HasCheck(subject.access, letter); };
      if (!std::ranges::all_of(violated, applies)) continue;
      for (const char letter : violated) Violate(letter, subject, entry);
      const Translation translation = Ask(subject);
      entry = before;
      SCOPED_TRACE(std::string(NameOf(subject.access)) + " violating " + violated);
      if (violated.empty()) {
        EXPECT_TRUE(IsReady(translation));
        continue;
      }
      ASSERT_NE(AsRefusal(translation), nullptr);
      EXPECT_EQ(CheckOf(*AsRefusal(translation)), violated.front());
    }
  }

  RegionKeys region_;
};

TEST_F(TranslatorChecksTest, TheLowestLetterWinsForLocalAccess) {
  for (const AccessKind access :
       {AccessKind::kLocalRead, AccessKind::kLocalWrite, AccessKind::kBind}) {
    ExpectLowestLetterWins({.access = access, .key = region_.local, .who = me_});
  }
}

TEST_F(TranslatorChecksTest, TheLowestLetterWinsForRemoteAccessThroughRegions) {
  for (const AccessKind access :
       {AccessKind::kRemoteRead, AccessKind::kRemoteWrite, AccessKind::kRemoteAtomic}) {
    ExpectLowestLetterWins({.access = access, .key = region_.remote, .who = me_});
  }
}

TEST_F(TranslatorChecksTest, TheLowestLetterWinsForRemoteAccessThroughWindows) {
  for (const WindowType type : {WindowType::k1, WindowType::k2B}) {
    const Key window = BindWindow(type);
    for (const AccessKind access :
         {AccessKind::kRemoteRead, AccessKind::kRemoteWrite, AccessKind::kRemoteAtomic}) {
      ExpectLowestLetterWins({.access = access, .key = window, .who = me_});
    }
  }
}

TEST_F(TranslatorChecksTest, TheLowestLetterWinsForTasks) {
  ExpectLowestLetterWins(
      {.access = AccessKind::kTaskSend, .key = BeginTask(false), .address = 0, .who = me_});
  ExpectLowestLetterWins(
      {.access = AccessKind::kTaskReceive, .key = BeginTask(true), .address = 0, .who = me_});
}

// The other ways to fail check a, each combined with failures of all later checks.
TEST_F(TranslatorChecksTest, EveryFormOfCheckAComesFirst) {
  const Key window = BindWindow(WindowType::k1);
  Subject wrong{.access = AccessKind::kRemoteWrite, .key = window, .who = {PdId(9), QpNumber(9)}};
  Violate('d', wrong, EntryOf(window));
  Violate('e', wrong, EntryOf(window));
  EXPECT_TRUE(IsRefused(Ask(wrong), Refusal::kWrongDomain));
  ProtectionEntry& region = EntryOf(region_.local);
  region.guest = GuestKey(77);
  EXPECT_TRUE(IsRefused(Ask(wrong), Refusal::kGuestGone));
  ASSERT_TRUE(Succeeds(core_.regions.SwapOut(region_.local)));
  EXPECT_TRUE(IsRefused(Ask(wrong), Refusal::kRegionNotValid));
  wrong.key = Key(region_.local.value() ^ 1);
  EXPECT_TRUE(IsRefused(Ask(wrong), Refusal::kSwappedOut));
  region.state = EntryState::kReserved;
  EXPECT_TRUE(IsRefused(Ask(wrong), Refusal::kNotValid));
  region.guest = kHost;
  ASSERT_TRUE(Succeeds(core_.windows.Deallocate(window)));
  wrong.key = window;
  EXPECT_TRUE(IsRefused(Ask(wrong), Refusal::kNoSuchKey));
}

TEST_F(TranslatorChecksTest, AlignmentIsCheckedLast) {
  Subject atomic{
      .access = AccessKind::kRemoteAtomic, .key = region_.remote, .address = kBase + 4, .who = me_};
  EXPECT_TRUE(IsRefused(Ask(atomic), Refusal::kMisaligned));
  ProtectionEntry& entry = EntryOf(region_.local);
  entry.rights = entry.rights.Without(Access::kRemoteAtomic);
  EXPECT_TRUE(IsRefused(Ask(atomic), Refusal::kNoRight));
}

TEST_F(TranslatorChecksTest, WindowsServeNoLocalAccess) {
  const Key window = BindWindow(WindowType::k1);
  for (const AccessKind access :
       {AccessKind::kLocalRead, AccessKind::kLocalWrite, AccessKind::kBind}) {
    EXPECT_TRUE(IsRefused(Translate(window, kBase, 8, access), Refusal::kWrongType));
  }
  EXPECT_TRUE(IsRefused(Translate(window, kBase, 8, AccessKind::kTaskSend), Refusal::kWrongType));
}

TEST_F(TranslatorChecksTest, UnknownKeysAreRefused) {
  for (const uint32_t value : {0u, 1u, 0xffu, UINT32_MAX}) {
    EXPECT_TRUE(
        IsRefused(Translate(Key(value), 0, 1, AccessKind::kLocalRead), Refusal::kNoSuchKey));
  }
}

// InfiniBand and iWARP: the key of an access of no bytes is not checked.
TEST_F(TranslatorChecksTest, AnAccessOfNoBytesIsReadyWithAnyKey) {
  const Translation translation = Translate(Key(), kMax, 0, AccessKind::kRemoteWrite);
  ASSERT_TRUE(IsReady(translation));
  EXPECT_TRUE(AsReady(translation)->spans.empty());
}

TEST_F(TranslatorChecksTest, TheRangeEndsWithTheLastByte) {
  const auto read = [&](uint64_t address, uint64_t length) {
    return Translate(region_.local, address, length, AccessKind::kLocalRead);
  };
  EXPECT_TRUE(IsReady(read(kBase, kLength)));
  EXPECT_TRUE(IsReady(read(kBase + kLength - 1, 1)));
  for (const auto& [address, length] : {std::pair{kBase, kLength + 1},
                                        {kBase + kLength - 1, uint64_t{2}},
                                        {kBase + kLength, 1},
                                        {kBase - 1, 1},
                                        {kBase - 1, kLength},
                                        {kBase + 1, kMax},
                                        {kBase, kMax},
                                        {kBase + 8, kMax - 7},
                                        {kMax, 1},
                                        {kMax, kMax},
                                        {uint64_t{0}, kMax}}) {
    EXPECT_TRUE(IsRefused(read(address, length), Refusal::kOutOfRange)) << address << "+" << length;
  }
}

TEST_F(TranslatorChecksTest, AuthorizeIgnoresPages) {
  ASSERT_TRUE(Succeeds(core_.regions.UnmapPages(region_.local, 0, 1)));
  const Key window = BindWindow(WindowType::k1);
  const auto grant =
      core_.translator.Authorize(window, KeyAddress(kBase + 5), 8, AccessKind::kRemoteRead, me_);
  ASSERT_TRUE(Succeeds(grant));
  EXPECT_EQ(grant->target, &EntryOf(region_.local));
  EXPECT_EQ(grant->offset, 5u);
  EXPECT_EQ(core_.table.LocalKey(grant->slot), region_.local);
}

class WindowsOnlyTest : public MemoryFixture {
 protected:
  WindowsOnlyTest() : MemoryFixture(MemoryOptions{.remote_through_regions = false}) {}
};

// Row B8: remote access through windows only, as configured.
TEST_F(WindowsOnlyTest, RegionsServeNoRemoteAccess) {
  const RegionKeys region = LinearRegion(kBase, kPage);
  EXPECT_TRUE(IsReady(Translate(region.local, kBase, 8, AccessKind::kLocalWrite)));
  for (const AccessKind access :
       {AccessKind::kRemoteRead, AccessKind::kRemoteWrite, AccessKind::kRemoteAtomic}) {
    EXPECT_TRUE(IsRefused(Translate(region.remote, kBase, 8, access), Refusal::kWrongType));
  }
  const auto window = core_.windows.Bind(*core_.windows.Allocate(pd_, WindowType::k1),
                                         {.region = region.local,
                                          .start = KeyAddress(kBase),
                                          .length = 8,
                                          .rights = Access::kRemote,
                                          .variant = {}},
                                         me_);
  ASSERT_TRUE(Succeeds(window));
  EXPECT_TRUE(IsReady(Translate(*window, kBase, 8, AccessKind::kRemoteWrite)));
}

}  // namespace
}  // namespace verbena::memory
