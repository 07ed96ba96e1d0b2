#include <cstdint>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/cache_ways.h"
#include "tests/support/fake_backend.h"
#include "verbena/peer_buffers.h"
#include "verbena/registration_cache.h"

namespace verbena {
namespace {

constexpr Access kPeerReads = Access::kLocal | Access::kRemoteRead;

// A cache at the client, and its list at the server.
class AnnouncedCacheTest : public testing::TestWithParam<Keeping> {
 protected:
  [[nodiscard]] static bool is_off() { return GetParam() == Keeping::kNothing; }
  void Make(const CacheOptions& options) {
    auto announcing = std::make_unique<AnnouncingBackend>(
        std::make_unique<FakeBackend>(client_), [this](const BufferNotice& notice) {
          ++notices_;
          if (!is_connected_) return false;
          const auto applied = server_.Apply(*ParseBufferNotice(ToBytes(notice)));
          EXPECT_TRUE(applied) << applied.error().text;
          return true;
        });
    cache_ = RegistrationCache::Create(std::move(announcing), With(GetParam(), options)).value();
  }
  [[nodiscard]] CachedRegion Acquire(uint64_t address, Access access) {
    return cache_.Acquire(reinterpret_cast<const void*>(address), 4'096, access).value();
  }
  [[nodiscard]] Key KeyAtServer(uint64_t address) const {
    const auto found = server_.Find(address, 4'096, Access::kRemoteRead);
    return found ? found->key : Key();
  }

  std::shared_ptr<FakeBackend::State> client_ = std::make_shared<FakeBackend::State>();
  PeerBuffers server_ = PeerBuffers::Create().value();
  bool is_connected_ = true;
  int notices_ = 0;
  RegistrationCache cache_;
};
INSTANTIATE_TEST_SUITE_P(Caches, AnnouncedCacheTest, BothWays(), NameOfWay);

TEST_P(AnnouncedCacheTest, ABufferIsAnnouncedOnceIfItIsKept) {
  Make({.released_remote_key = ReleasedRemoteKey::kKept});
  for (int i = 0; i < 10; ++i) {
    const CachedRegion region = Acquire(0x10000, kPeerReads);
    EXPECT_EQ(KeyAtServer(0x10000), region.r_key());
  }
  EXPECT_EQ(notices_, is_off() ? 20 : 1);
  cache_.Announce(reinterpret_cast<const void*>(0x10000), 1);
  cache_.Collect();
  EXPECT_EQ(KeyAtServer(0x10000), Key());
  EXPECT_EQ(notices_, is_off() ? 20 : 2);
}

TEST_P(AnnouncedCacheTest, AReleasedKeyIsNotAtTheServer) {
  Make({});
  Key first;
  {
    const CachedRegion region = Acquire(0x10000, kPeerReads);
    first = region.r_key();
    EXPECT_EQ(KeyAtServer(0x10000), first);
  }
  EXPECT_EQ(KeyAtServer(0x10000), Key()) << "parked without remote rights, or deregistered";
  const CachedRegion again = Acquire(0x10000, kPeerReads);
  EXPECT_NE(again.r_key(), first);
  EXPECT_EQ(KeyAtServer(0x10000), again.r_key());
  EXPECT_EQ(client_->registered, is_off() ? 2U : 1U) << "changed in place if it is kept";
}

TEST_P(AnnouncedCacheTest, LocalBuffersAreNotTheServersConcern) {
  Make({});
  EXPECT_TRUE(Acquire(0x10000, Access::kLocal));
  EXPECT_EQ(notices_, 0);
}

TEST_P(AnnouncedCacheTest, WhatCannotBeAnnouncedIsNotRegistered) {
  Make({});
  is_connected_ = false;
  EXPECT_FALSE(cache_.Acquire(reinterpret_cast<const void*>(0x10000), 1, kPeerReads));
  EXPECT_EQ(client_->count(), 0U);
}

TEST_P(AnnouncedCacheTest, ABackendThatCannotRekeyRegistersAnew) {
  client_->can_rekey = false;
  Make({});
  for (int i = 0; i < 3; ++i) {
    const CachedRegion region = Acquire(0x10000, kPeerReads);
    EXPECT_EQ(KeyAtServer(0x10000), region.r_key());
  }
  EXPECT_EQ(KeyAtServer(0x10000), Key());
  EXPECT_EQ(server_.size(), 0U);
}

TEST_P(AnnouncedCacheTest, TheServersListIsEmptyWhenTheCacheIsGone) {
  Make({.released_remote_key = ReleasedRemoteKey::kKept});
  for (uint64_t i = 1; i < 20; ++i) static_cast<void>(Acquire(i << 16, kPeerReads));
  EXPECT_EQ(server_.size(), is_off() ? 0U : 19U);
  cache_ = {};
  EXPECT_EQ(server_.size(), 0U);
  EXPECT_EQ(client_->count(), 0U);
}

}  // namespace
}  // namespace verbena
