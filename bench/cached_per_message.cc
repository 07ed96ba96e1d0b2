// The registration cache over the libibverbs of the system, whatever adapter that has: beside
// registering for each message, in turns. Prints one line per size: bytes, and microseconds for a
// message that registers and for one that asks the cache (the medians of the rounds). What a cache
// hears of changes is printed to the standard error.
//
//   cached_per_message [--gid INDEX] [--announces] [milliseconds per size]
//
// --announces: as a program that tells the cache before it unmaps memory. It needs no userfaultfd.

#include <memory>
#include <string_view>

#include "bench/per_message.h"
#include "verbena/ibverbs_backend.h"
#include "verbena/registration_cache.h"

using namespace verbena::bench;

namespace {

struct Arguments {
  uint8_t gid = 0;
  bool announces = false;
  std::chrono::milliseconds duration{300};
};

Arguments Parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--announces") {
      arguments.announces = true;
    } else if (word == "--gid" && i + 1 < argc) {
      arguments.gid = static_cast<uint8_t>(std::atoi(argv[++i]));
    } else {
      arguments.duration = std::chrono::milliseconds(std::atoi(argv[i]));
    }
  }
  return arguments;
}

verbena::RegistrationCache MakeCache(const Ends& ends, bool announces) {
  verbena::CacheOptions options;
  options.announces = announces;
  auto cache = verbena::RegistrationCache::Create(
      std::make_unique<verbena::IbverbsBackend>(ends.pd), options);
  Need(cache.has_value(), "RegistrationCache::Create");
  return std::move(*cache);
}

void WriteCached(verbena::RegistrationCache& cache, const Ends& ends, const char* from,
                 size_t length, const ibv_mr& target) {
  const auto region = cache.Acquire(from, length, verbena::Access::kLocal);
  Need(region.has_value(), "RegistrationCache::Acquire");
  Write(ends, from, length, region->l_key().value(), target);
}

void WriteRegistered(const Ends& ends, char* from, size_t length, const ibv_mr& target) {
  ibv_mr* const mr = ibv_reg_mr(ends.pd, from, length, kMessageRights);
  Need(mr != nullptr, "ibv_reg_mr");
  Write(ends, from, length, mr->lkey, target);
  Need(ibv_dereg_mr(mr) == 0, "ibv_dereg_mr");
}

}  // namespace

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  const Arguments arguments = Parse(argc, argv);
  const Ends ends = Open(arguments.gid);
  auto cache = MakeCache(ends, arguments.announces);
  std::fprintf(stderr, "%s\n", cache.Notices().c_str());
  char* const from = MapMessage();
  ibv_mr* const target = ibv_reg_mr(ends.pd, MapMessage(), kMessageMax, kMessageRights);
  Need(target != nullptr, "ibv_reg_mr");
  for (size_t length = 4'096; length <= kMessageMax; length *= 4) {
    std::vector<double> plain, cached;
    const auto end = Clock::now() + arguments.duration;
    while (Clock::now() < end || plain.size() < 5) {
      plain.push_back(MicrosecondsOf([&] { WriteRegistered(ends, from, length, *target); }));
      cached.push_back(MicrosecondsOf([&] { WriteCached(cache, ends, from, length, *target); }));
    }
    std::printf("%zu %.2f %.2f\n", length, MedianOf(plain), MedianOf(cached));
  }
  return 0;
}
