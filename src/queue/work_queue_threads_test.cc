#include <array>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "queue/work_queue.h"

namespace verbena::queue {
namespace {

constexpr uint64_t kPosters = 3;
constexpr uint64_t kEach = 20'000;

WrId IdOf(uint64_t poster, uint64_t i) { return WrId(poster << 32 | i); }

// Posts a request whose list and inline data follow from its id.
bool TryPost(SendQueue& queue, uint64_t poster, uint64_t i) {
  const uint64_t payload = IdOf(poster, i).value();
  SendWqe wqe{.id = WrId(payload)};
  wqe.flags.inlined = i % 2 == 0;
  const std::array<Sge, 1> sges = {
      Sge{.address = wqe.flags.inlined ? reinterpret_cast<uintptr_t>(&payload) : payload,
          .length = sizeof(payload),
          .key = Key(static_cast<uint32_t>(poster))}};
  return queue.Post({wqe, sges}).has_value();
}

uint64_t PayloadAt(const SendQueue& queue, WqeNumber n) {
  if (queue.SgesAt(n).size() == 1) return queue.SgesAt(n)[0].address;
  uint64_t payload = 0;
  EXPECT_EQ(queue.InlineAt(n).size(), sizeof(payload));
  std::memcpy(&payload, queue.InlineAt(n).data(), sizeof(payload));
  return payload;
}

TEST(WorkQueueThreads, ManyPostersOneEngine) {
  SendQueue queue({.capacity = 13, .sges_max = 1, .inline_max = sizeof(uint64_t)});
  std::vector<std::thread> posters;
  for (uint64_t poster = 0; poster < kPosters; ++poster) {
    posters.emplace_back([&queue, poster] {
      for (uint64_t i = 0; i < kEach;) {
        if (TryPost(queue, poster, i)) {
          ++i;
        } else {
          std::this_thread::yield();
        }
      }
    });
  }

  // Each poster's requests arrive whole and in its order.
  std::array<uint64_t, kPosters> next{};
  uint64_t bad = 0;
  for (uint64_t done = 0; done < kPosters * kEach;) {
    const WqeNumber end = queue.end();
    if (queue.begin() == end) std::this_thread::yield();
    for (WqeNumber n = queue.begin(); n < end; n = Next(n), ++done) {
      const uint64_t id = queue.At(n).id.value();
      if (WrId(id) != IdOf(id >> 32, next[id >> 32]++) || PayloadAt(queue, n) != id) ++bad;
      queue.Retire(n);
    }
  }
  for (std::thread& poster : posters) poster.join();
  EXPECT_EQ(bad, 0u);
  EXPECT_TRUE(queue.IsConsistent());
}

TEST(WorkQueueThreads, ChainsDoNotMix) {
  constexpr uint64_t kChain = 4;
  ReceiveQueue queue({.capacity = 64, .sges_max = 0});
  std::vector<std::thread> posters;
  for (uint64_t poster = 0; poster < 2; ++poster) {
    posters.emplace_back([&queue, poster] {
      for (uint64_t chain = 0; chain < 8; ++chain) {
        ReceiveQueue::Posting posting(queue);
        for (uint64_t i = 0; i < kChain; ++i) {
          EXPECT_TRUE(posting.Add({{IdOf(poster, chain * kChain + i)}, {}}));
        }
      }
    });
  }
  for (std::thread& poster : posters) poster.join();
  for (uint64_t n = 0; n < 64; n += kChain) {
    const uint64_t first = queue.At(WqeNumber(n)).id.value();
    for (uint64_t i = 1; i < kChain; ++i) {
      EXPECT_EQ(queue.At(WqeNumber(n + i)).id.value(), first + i);
    }
  }
}

}  // namespace
}  // namespace verbena::queue
