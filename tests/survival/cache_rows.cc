// The registration cache: its own calls, over libibverbs, and ibv_reg_mr as with --cache.

#include <infiniband/verbs.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "tests/survival/rows.h"
#include "verbena/verbena_cache.h"

namespace verbena::survival {
namespace {

constexpr int kPeer = VERBENA_CACHE_LOCAL_WRITE | VERBENA_CACHE_REMOTE_READ;

// A cache of the row's own, and what it has acquired.
struct RowCache {
  verbena_cache* cache = nullptr;
  verbena_cached_region region = {};

  void Open(World& w, uint32_t entries_max) {
    if (cache != nullptr) return;
    verbena_cache_options options;
    verbena_cache_default_options(&options);
    options.entries_max = entries_max;
    options.announces = 1;  // without a userfaultfd, too, memory is kept
    const verbena_cache_backend backend = verbena_cache_ibv_backend(w.Pd());
    EXPECT_EQ(verbena_cache_create(&backend, &options, &cache), 0);
    w.AtEnd([this] {
      verbena_cache_destroy(std::exchange(cache, nullptr));
      return 0;
    });
  }
  int Acquire(World& w, size_t offset, size_t length, int access) {
    return verbena_cache_acquire(cache, w.bytes + offset, length, access, &region);
  }
  void Keep(World& w, size_t offset, size_t length, int access) {
    EXPECT_EQ(Acquire(w, offset, length, access), 0);
    verbena_cache_release(&region);
  }
  // So that the next attempt finds what the first one found.
  void ReleaseAndForget() {
    verbena_cache_release(&region);
    verbena_cache_collect(cache, 1);
  }
};

void AddCalls(std::vector<Row>& rows) {
  const auto made = std::make_shared<verbena_cache*>(nullptr);
  rows.push_back({"verbena_cache_create", [](World& w) { w.Pd(); },
                  [made](World& w) {
                    const verbena_cache_backend backend = verbena_cache_ibv_backend(w.Pd());
                    return ByNumber(verbena_cache_create(&backend, nullptr, made.get()));
                  },
                  [made](World& /*w*/) { verbena_cache_destroy(*made); }});
  const auto row = [&](const char* name, uint32_t entries_max, auto before, size_t length,
                       int access) {
    const auto cache = std::make_shared<RowCache>();
    rows.push_back({name,
                    [=](World& w) {
                      cache->Open(w, entries_max);
                      before(w, *cache);
                    },
                    [=](World& w) { return ByNumber(cache->Acquire(w, 0, length, access)); },
                    [=](World& /*w*/) { cache->ReleaseAndForget(); }});
  };
  const auto nothing = [](World& /*w*/, RowCache& /*cache*/) {};
  row("verbena_cache_acquire, a miss", 16, nothing, 4'096, 0);
  row("verbena_cache_acquire for a peer", 16, nothing, 100, kPeer);
  row(
      "verbena_cache_acquire, a merge", 16,
      [](World& w, RowCache& cache) { cache.Keep(w, 4'096, 4'096, VERBENA_CACHE_LOCAL_WRITE); },
      8'192, 0);
  row(
      "verbena_cache_acquire, an eviction", 1,
      [](World& w, RowCache& cache) { cache.Keep(w, 4'096, 4'096, 0); }, 100, kPeer);
}

// A context and a domain as with --cache.
ibv_pd* CachedPd(World& w) {
  setenv("VERBENA_CACHE", "1", 1);
  ibv_context* const context = ibv_open_device(w.device);
  ibv_pd* const pd = ibv_alloc_pd(context);
  unsetenv("VERBENA_CACHE");
  EXPECT_NE(pd, nullptr);
  w.AtEnd([=] { return ibv_dealloc_pd(pd) != 0 ? -1 : ibv_close_device(context); });
  return pd;
}

void AddTransparent(std::vector<Row>& rows) {
  const auto pd = std::make_shared<ibv_pd*>(nullptr);
  const auto set_up = [pd](World& w) {
    *pd = CachedPd(w);
    w.made = nullptr;
  };
  constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  const auto reg = [pd](World& w) {
    w.made = (ibv_reg_mr)(*pd, w.bytes, sizeof w.bytes, kAccess);
    return ByNull(w.made);
  };
  const auto dereg = [](World& w) { EXPECT_EQ(ibv_dereg_mr(w.Made<ibv_mr>()), 0); };
  rows.push_back({"ibv_reg_mr with a cache", set_up, reg, dereg});
  rows.push_back({"ibv_reg_mr with a cache, of bytes that it has",
                  [=](World& w) {
                    set_up(w);
                    EXPECT_TRUE(reg(w).ok());
                    dereg(w);
                  },
                  reg, dereg});
  rows.push_back({"ibv_dereg_mr with a cache",
                  [=](World& w) {
                    set_up(w);
                    EXPECT_TRUE(reg(w).ok());
                  },
                  [](World& w) { return ByNumber(ibv_dereg_mr(w.Made<ibv_mr>())); }});
}

}  // namespace

std::vector<Row> CacheRows() {
  std::vector<Row> rows;
  AddCalls(rows);
  AddTransparent(rows);
  return rows;
}

}  // namespace verbena::survival
