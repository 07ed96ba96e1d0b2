#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <tuple>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "memory/memory_core.h"

namespace verbena::memory {

inline constexpr uint64_t kPage = 4096;
inline constexpr PageShift kSmall{12};    // 4 KiB
inline constexpr PageShift kLarge{21};    // 2 MiB
inline constexpr PageShift kLargest{28};  // 256 MiB
inline constexpr uint64_t kMax = UINT64_MAX;

inline constexpr Access kLocal = Access::kLocalRead | Access::kLocalWrite;

template <class T, class E>
testing::AssertionResult Succeeds(const Result<T, E>& result) {
  if (result.has_value()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "failed: " << NameOf(result.error());
}

template <class T, class E>
testing::AssertionResult FailsWith(const Result<T, E>& result, std::type_identity_t<E> expected) {
  if (result.has_value()) return testing::AssertionFailure() << "succeeded";
  if (result.error() == expected) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "failed, but: " << NameOf(result.error());
}

inline testing::AssertionResult IsRefused(const Translation& translation, Refusal expected) {
  const Refusal* refusal = AsRefusal(translation);
  if (refusal == nullptr) return testing::AssertionFailure() << "not refused";
  if (*refusal == expected) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "denied, but: " << NameOf(*refusal);
}

inline testing::AssertionResult IsReady(const Translation& translation) {
  if (AsReady(translation) != nullptr) return testing::AssertionSuccess();
  if (AsFault(translation) != nullptr) return testing::AssertionFailure() << "fault";
  return testing::AssertionFailure() << "denied: " << NameOf(*AsRefusal(translation));
}

// The spans of machine memory as (address, length); empty unless the translation is ready.
using Pieces = std::vector<std::pair<uint64_t, uint64_t>>;
inline Pieces PiecesOf(const Translation& translation) {
  Pieces pieces;
  if (const Ready* ready = AsReady(translation)) {
    for (const Span span : ready->spans) pieces.emplace_back(span.address.value(), span.length);
  }
  return pieces;
}

inline std::vector<PhysicalAddress> Pages(std::initializer_list<uint64_t> addresses) {
  std::vector<PhysicalAddress> pages;
  for (const uint64_t address : addresses) pages.emplace_back(address);
  return pages;
}

// A comparable copy of all state that a failed call must not change.
struct TablesImage {
  using Entry = std::tuple<uint32_t, uint32_t, uint64_t, uint64_t, const void*, uint32_t, uint8_t,
                           EntryState, bool>;
  std::vector<Entry> entries;
  std::vector<uint64_t> counts;

  friend bool operator==(const TablesImage&, const TablesImage&) = default;
};

inline TablesImage ImageOf(const MemoryCore& core, std::initializer_list<PdId> domains) {
  TablesImage image;
  core.table.ForEachLive([&](SlotNumber slot, const ProtectionEntry& entry) {
    image.entries.emplace_back(core.table.LocalKey(slot).value(),
                               core.table.RemoteKey(slot).value(), entry.start, entry.length,
                               entry.table, entry.pd.value(), entry.rights.bits(), entry.state,
                               entry.touched);
  });
  image.counts = {core.table.live_count(),
                  core.table.retired_count(),
                  core.translations.table_count(),
                  core.translations.reverse_record_count(),
                  core.consumers.size(),
                  core.domains.size(),
                  core.guests.size()};
  for (const PdId pd : domains) image.counts.push_back(core.domains.Find(pd)->users);
  return image;
}

// A memory core with one flat, unprivileged host consumer, its protection domain and a queue pair.
// Checks at the end of each test that the tables are consistent.
class MemoryFixture : public testing::Test {
 protected:
  explicit MemoryFixture(const MemoryOptions& options = {}) : core_(options) {
    pd_ = MakeDomain({.table = ConsumerSpec::PrivateTable{}});
    me_ = {pd_, QpNumber(1)};
  }
  ~MemoryFixture() override { EXPECT_TRUE(core_.IsConsistent()); }

  PdId MakeDomain(const ConsumerSpec& spec) {
    const auto consumer = core_.consumers.Open(spec);
    EXPECT_TRUE(Succeeds(consumer));
    const auto pd = core_.domains.Allocate(*consumer);
    EXPECT_TRUE(Succeeds(pd));
    return *pd;
  }
  ConsumerId OwnerOf(PdId pd) const { return core_.domains.Find(pd)->owner; }

  // Registers contiguous machine memory at its own address, with all pages present.
  RegionKeys LinearRegion(uint64_t base, uint64_t length, Access rights = Access::kAll,
                          PageShift shift = kSmall) {
    const RegionSpec spec{.pd = pd_, .start = KeyAddress(base), .length = length, .rights = rights};
    const auto keys = core_.regions.Register(spec, LinearBacking{PhysicalAddress(base), shift});
    EXPECT_TRUE(Succeeds(keys));
    EXPECT_TRUE(Succeeds(core_.regions.MapPages(keys->local, 0, PageCount(base, length, shift),
                                                std::nullopt, true)));
    return *keys;
  }

  Translation Translate(Key key, uint64_t address, uint64_t length, AccessKind access) const {
    return core_.translator.Translate(key, KeyAddress(address), length, access, me_);
  }
  ProtectionEntry& EntryOf(Key key) { return *core_.table.Find(key.index()); }

  // Runs `call`, which must fail, and checks that it changed nothing.
  template <class Fn>
  void ExpectUnchanged(Fn call) {
    const TablesImage before = ImageOf(core_, {pd_});
    call();
    EXPECT_EQ(ImageOf(core_, {pd_}), before);
    EXPECT_TRUE(core_.IsConsistent());
  }

  MemoryCore core_;
  PdId pd_;
  Accessor me_;
};

}  // namespace verbena::memory
