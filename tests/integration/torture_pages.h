#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/integration/torture_arena.h"
#include "tests/integration/torture_shared.h"
#include "tests/support/adapter_world.h"

namespace verbena::torture {

// All pages that the victim changes, by slot: anonymous pages and pages of a file, all registered.
//
// Thread rule: any thread.
class Pages {
 public:
  Pages(Shared& shared, adapter::TestNode& victim) {
    arenas_.push_back(std::make_unique<Arena>(0, kPlainPages, false, &shared.epochs[0]));
    arenas_.push_back(
        std::make_unique<Arena>(kPlainPages, kFilePages, true, &shared.epochs[kPlainPages]));
    for (const auto& arena : arenas_) Offer(*arena, shared, victim);
  }

  Sge Bytes(uint64_t slot, uint64_t offset, uint64_t length) const {
    const Place& place = places_[slot];
    const auto at = reinterpret_cast<uintptr_t>(place.arena->page(place.page)) + offset;
    return {at, static_cast<uint32_t>(length), place.local_key};
  }
  // See Arena.
  bool Holds(uint64_t slot, uint64_t offset, uint64_t bytes, uint64_t word, uint32_t epoch) const {
    return places_[slot].arena->Holds(places_[slot].page, offset, bytes, word, epoch);
  }
  void Torment(Random& random) { arenas_[random.Below(arenas_.size())]->Torment(random); }

 private:
  struct Place {
    Arena* arena = nullptr;
    uint64_t page = 0;
    Key local_key{};
  };

  void Offer(Arena& arena, Shared& shared, adapter::TestNode& victim) {
    const auto at = reinterpret_cast<uintptr_t>(arena.page(0));
    const auto keys =
        victim.adapter().RegisterRegion({.pd = victim.pd(),
                                         .start = KeyAddress(at),
                                         .length = arena.bytes(),
                                         .rights = Access::kAll},
                                        memory::LinearBacking{.base = memory::PhysicalAddress(at)});
    CHECK(keys.has_value());
    for (uint64_t page = 0; page < arena.pages(); ++page) {
      places_.push_back({&arena, page, keys->local});
      shared.addresses[arena.slot(page)].store(at + page * kPage);
      shared.keys[arena.slot(page)].store(keys->remote.value());
    }
  }

  std::vector<std::unique_ptr<Arena>> arenas_;
  std::vector<Place> places_;
};

}  // namespace verbena::torture
