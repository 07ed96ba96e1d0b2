#include "cache/hints.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace verbena::cache {
namespace {

RegistrationRequest Local(uint64_t page) {
  return {{page << 12, (page << 12) + 99}, Access::kLocalRead};
}
RegistrationRequest Remote(uint64_t address) {
  return {{address, address + 99}, Access::kRemoteRead};
}

bool Has(const Hints& hints, const RegistrationRequest& request, EntryNumber number) {
  return hints.FindIf(request, [&](EntryNumber found) { return found == number; });
}

// Buffers in rows are what programs have: they must not meet in one place.
TEST(Hints, BuffersAtAllStridesAreFound) {
  for (const uint64_t stride : {1U, 2U, 16U, 256U, 4'096U}) {
    for (const uint32_t count : {10U, 1'000U, 20'000U}) {
      Hints hints(count);
      for (uint32_t i = 0; i < count; ++i) hints.Put(Local(0x7f000000 + i * stride), i);
      uint32_t lost = 0;
      for (uint32_t i = 0; i < count; ++i) {
        lost += Has(hints, Local(0x7f000000 + i * stride), i) ? 0 : 1;
      }
      EXPECT_LE(lost, count / 500) << count << " buffers, " << stride << " pages apart";
    }
  }
}

TEST(Hints, SeveralEntriesHaveOnePlace) {
  Hints hints(100);
  for (EntryNumber i = 0; i < 5; ++i) hints.Put(Remote(0x1000), i);
  for (EntryNumber i = 0; i < 5; ++i) EXPECT_TRUE(Has(hints, Remote(0x1000), i));
  hints.Remove(Remote(0x1000), 3);
  EXPECT_FALSE(Has(hints, Remote(0x1000), 3));
  EXPECT_TRUE(Has(hints, Remote(0x1000), 4));
  EXPECT_FALSE(Has(hints, Local(1), 4)) << "local requests have places of their own";
}

TEST(Hints, AFullPlaceForgets) {
  Hints hints(100);
  for (EntryNumber i = 0; i < 20; ++i) hints.Put(Remote(0x1000), i);
  EXPECT_TRUE(Has(hints, Remote(0x1000), 19));
}

}  // namespace
}  // namespace verbena::cache
