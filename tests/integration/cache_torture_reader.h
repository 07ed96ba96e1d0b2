#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/check.h"
#include "tests/support/verbs_world.h"
#include "verbena/registration_cache.h"

namespace verbena {

// A reader with a connection of its own, over which it reads the memory of the other end.
struct CacheTortureReader {
  // A timeout of 4 s: on a machine that is busy with other work, the other end is not gone sooner.
  explicit CacheTortureReader(bool is_off) : options{.release_immediately = is_off} {
    ConnectPair(a, qa, b, qb, {.timeout = 20});
  }

  uint64_t Read(const void* memory, size_t length) {
    const CachedRegion region =
        Good(cache.Acquire(memory, length, Access::kLocal | Access::kRemoteRead));
    const RemoteAddress remote{reinterpret_cast<uintptr_t>(memory), region.r_key()};
    CHECK(qa.Post(verbena::Read{.data = a.region.Local(0, 8), .remote = remote}).has_value());
    const auto status = a.WaitStatus();
    if (status != CompletionStatus::kSuccess) {
      std::printf("an RDMA read: %s\n", status ? NameOf(*status) : "no completion in 20 s");
      std::abort();
    }
    uint64_t found = 0;
    std::memcpy(&found, a.memory.data(), sizeof found);
    return found;
  }

  const CacheOptions options;
  VerbsNode a, b;
  QueuePair qa = a.MakeQp(), qb = b.MakeQp();
  RegistrationCache cache = Good(RegistrationCache::Create(BackendOf(b.domain), options));
};

}  // namespace verbena
