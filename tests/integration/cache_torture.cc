// Memory that is changed behind the registration cache, at the same addresses again and again,
// while threads acquire it and use it. Every page carries a stamp of its contents, so that a use of
// pages that are gone is seen. Slots are changed in every way there is, under their locks. Other
// threads map memory, use it and unmap it without any lock, so that each gets the addresses that
// another one is about to give up.
//
//   cache_torture [--seconds N | --long] [--verbena] [--no-userfaultfd] [--off]
//
// Without --verbena the backend is one with fixed pages: it notes the stamps that it finds when it
// registers, as an adapter notes pages, and a use compares them with those in memory. With
// --verbena a use is an RDMA read over the adapter. With --off nothing is kept beyond its release.

#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "verbena/registration_cache.h"
#ifndef CACHE_TORTURE_ALONE
#include "tests/integration/cache_torture_reader.h"
#endif

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

namespace verbena {
namespace {

constexpr size_t kPage = 4'096;
constexpr size_t kPages = 4;
constexpr size_t kSlots = 32;
constexpr int kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS;

// Memory at one address, whose contents are replaced under its lock.
class Slot {
 public:
  // Every fourth is shared memory: of a file, or of System V. The last one is the end of the heap:
  // what is allocated before it does not move the break any more.
  explicit Slot(size_t index)
      : kind_(index == kSlots - 1 ? Kind::kHeap
              : index % 8 == 3    ? Kind::kFile
              : index % 8 == 7    ? Kind::kShm
                                  : Kind::kPrivate) {
    memory_ = kind_ == Kind::kHeap ? Grow() : Reserve();
    if (kind_ != Kind::kHeap) Replace();
    Stamp();
  }

  // Replaces the memory, or its pages, by one of the ways there are.
  void Change(Random& random) {
    const std::lock_guard lock(mutex);
    const std::lock_guard hole(holes);
    if (kind_ == Kind::kHeap) {
      MoveBreak();
    } else if (kind_ != Kind::kPrivate) {
      if (kind_ == Kind::kFile && random.Below(2) == 0) {
        Truncate();
      } else {
        Replace();
      }
    } else {
      const uint64_t way = random.Below(6);
      ChangePrivate(way);
      if (way == 5) return;  // the same pages
    }
    Stamp();
  }
  [[nodiscard]] uint64_t generation() const { return generation_; }
  [[nodiscard]] char* memory() const { return memory_; }
  static constexpr size_t kBytes = kPages * kPage;

  std::mutex mutex;  // held while it is used, and while it is changed
  // While there is a hole at the address of a slot, no other thread may map memory there.
  static inline std::mutex holes;

 private:
  enum class Kind : uint8_t { kPrivate, kFile, kShm, kHeap };

  // Between pages that stay, so that holes are small.
  static char* Reserve() {
    constexpr size_t kAround = 16 * kPage;
    void* const place = mmap(nullptr, kBytes + 2 * kAround, PROT_NONE, kAnonymous, -1, 0);
    CHECK(place != MAP_FAILED);
    return static_cast<char*>(place) + kAround;
  }
  static char* Grow() {
    const auto end = reinterpret_cast<uintptr_t>(sbrk(0));
    auto* const place = reinterpret_cast<char*>((end + kPage - 1) / kPage * kPage);
    CHECK(brk(place + kBytes) == 0);
    return place;
  }
  // An allocator that has moved the break further keeps what it has.
  void MoveBreak() {
    if (sbrk(0) != memory_ + kBytes) return Map(kAnonymous, -1);
    CHECK(brk(memory_) == 0);
    CHECK(brk(memory_ + kBytes) == 0);
  }

  void ChangePrivate(uint64_t way) {
    switch (way) {
      case 0:  // the last page, so that no other thread gets the address of the slot
        CHECK(munmap(memory_ + (kPages - 1) * kPage, kPage) == 0);
        return Map(kAnonymous, -1);
      case 1:
        return Map(kAnonymous, -1);
      case 2:
        CHECK(madvise(memory_, kBytes, MADV_DONTNEED) == 0);
        return;
      case 3: {
        void* const there = mremap(memory_, kBytes, kBytes + kPage, MREMAP_MAYMOVE);
        if (there != MAP_FAILED) munmap(there, kBytes + kPage);
        return Map(kAnonymous, -1);
      }
      case 4: {
        const long there = syscall(SYS_mremap, memory_, kBytes, kBytes,
                                   MREMAP_MAYMOVE | MREMAP_DONTUNMAP, nullptr);
        if (there > 0) munmap(reinterpret_cast<void*>(there), kBytes);
        return;
      }
      default:
        CHECK(mprotect(memory_, kBytes, PROT_NONE) == 0);
        CHECK(mprotect(memory_, kBytes, PROT_READ | PROT_WRITE) == 0);
    }
  }
  void Replace() {
    switch (kind_) {
      case Kind::kPrivate:
      case Kind::kHeap:
        return Map(kAnonymous, -1);
      case Kind::kFile:
        if (file_ >= 0) close(file_);
        file_ = memfd_create("cache_torture", MFD_CLOEXEC);
        CHECK(ftruncate(file_, kBytes) == 0);
        return Map(MAP_SHARED, file_);
      case Kind::kShm: {
        const int id = shmget(IPC_PRIVATE, kBytes, 0600);
        CHECK(id >= 0);
        if (is_attached_) shmdt(memory_);
        is_attached_ = true;
        CHECK(shmat(id, memory_, SHM_REMAP) == memory_);
        CHECK(shmctl(id, IPC_RMID, nullptr) == 0);
      }
    }
  }
  void Truncate() {
    CHECK(ftruncate(file_, 0) == 0);
    CHECK(ftruncate(file_, kBytes) == 0);
  }
  void Map(int flags, int file) {
    CHECK(mmap(memory_, kBytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, file, 0) == memory_);
  }
  void Stamp() {
    ++generation_;
    for (size_t i = 0; i < kPages; ++i) std::memcpy(memory_ + i * kPage, &generation_, 8);
  }

  const Kind kind_;
  char* memory_ = nullptr;
  uint64_t generation_ = 0;
  int file_ = -1;
  bool is_attached_ = false;
};

// Notes the stamp of each page that it finds. What a real adapter would read is what was there
// then.
class FixedPages final : public RegistrationBackend {
 public:
  struct Pages {
    uint64_t address;
    std::vector<uint64_t> stamps;

    // Of all these bytes; 0 if they have several.
    [[nodiscard]] uint64_t StampOf(const char* memory, size_t bytes) const {
      const size_t first = (reinterpret_cast<uintptr_t>(memory) - address) / kPage;
      const uint64_t stamp = stamps.at(first);
      for (size_t i = first; i < first + bytes / kPage; ++i) {
        if (stamps.at(i) != stamp) return 0;
      }
      return stamp;
    }
  };

  [[nodiscard]] bool follows_mappings() const override { return false; }
  // Other threads may unmap a part of what is merged: that is refused, as an adapter does.
  [[nodiscard]] ErrorOr<CachedKeys> Register(MemoryRange range, Access /*access*/) override {
    auto pages = std::make_unique<Pages>(Pages{range.address, {}});
    for (uint64_t at = 0; at < range.length; at += kPage) {
      uint64_t stamp = 0;
      iovec to{&stamp, sizeof stamp};
      iovec from{reinterpret_cast<void*>(range.address + at), sizeof stamp};
      if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != sizeof stamp) {
        return tl::unexpected(Error{.code = ErrorCode::kSystem, .os_error = EFAULT});
      }
      pages->stamps.push_back(stamp);
    }
    return CachedKeys{.object = pages.release(), .l_key = Key(1), .r_key = Key(1)};
  }
  void Deregister(const CachedKeys& keys) override { delete static_cast<Pages*>(keys.object); }
};

// Uses memory: the stamp that is found in its pages.
using Use = std::function<uint64_t(const char* memory, size_t bytes)>;

uint64_t UseFixed(RegistrationCache& cache, const char* memory, size_t bytes) {
  const auto region = cache.Acquire(memory, bytes, Access::kLocal);
  if (!region) {
    std::printf("%s, %d\n", region.error().text.c_str(), region.error().os_error);
    std::abort();
  }
  return static_cast<const FixedPages::Pages*>(region->object())->StampOf(memory, bytes);
}

struct Arguments {
  std::chrono::seconds duration{4};
  bool over_verbena = false;
  bool uses_userfaultfd = true;
  bool is_off = false;
};

class Torture {
 public:
  explicit Torture(const Arguments& arguments) : arguments_(arguments) {
    for (size_t i = 0; i < kSlots; ++i) slots_.push_back(std::make_unique<Slot>(i));
  }

  // The number of uses that found other pages.
  uint64_t Run() {
    CacheOptions options;
    options.use_userfaultfd = arguments_.uses_userfaultfd;
    options.release_immediately = arguments_.is_off;
    options.entries_max = kSlots / 2;  // so that some are evicted
    auto cache = RegistrationCache::Create(std::make_unique<FixedPages>(), options).value();
    std::printf("%s\n", arguments_.over_verbena ? "over the adapter" : cache.Notices().c_str());
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < 2; ++i) {
      threads.emplace_back(
          [this, i, &cache] { WithUse(cache, [&](const Use& use) { UseSlots(i, use); }); });
      threads.emplace_back(
          [this, i, &cache] { WithUse(cache, [&](const Use& use) { UseAndUnmap(i, use); }); });
    }
    while (uses_ < 4) std::this_thread::yield();  // their connections are set up
    for (uint64_t i = 0; i < 2; ++i) threads.emplace_back([this, i] { Change(i); });
    threads.emplace_back([this] { Allocate(); });
    std::this_thread::sleep_for(arguments_.duration);
    stops_ = true;
    for (std::thread& thread : threads) thread.join();
    std::printf("%llu uses, %llu changes, %llu stale\n%s",
                static_cast<unsigned long long>(uses_.load()),
                static_cast<unsigned long long>(changes_.load()),
                static_cast<unsigned long long>(stale_.load()), ToString(cache.Query()).c_str());
    return uses_ == 0 || changes_ == 0 ? ~uint64_t{0} : stale_.load();
  }

 private:
  // Calls fn with the way in which this thread uses memory.
  template <class Fn>
  void WithUse(RegistrationCache& cache, Fn fn) {
#ifndef CACHE_TORTURE_ALONE
    if (arguments_.over_verbena) {
      CacheTortureReader reader(arguments_.is_off);
      return fn([&](const char* memory, size_t bytes) { return reader.Read(memory, bytes); });
    }
#endif
    fn([&](const char* memory, size_t bytes) { return UseFixed(cache, memory, bytes); });
  }
  void Check(uint64_t found, uint64_t stamp) {
    if (found == stamp) return;
    if (stale_++ != 0) return;
    std::printf("found %llu for %llu\n", static_cast<unsigned long long>(found),
                static_cast<unsigned long long>(stamp));
  }

  void Change(uint64_t seed) {
    for (Random random(seed + 100); !stops_; ++changes_) {
      slots_[random.Below(kSlots)]->Change(random);
      if (random.Below(4) == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  void UseSlots(uint64_t seed, const Use& use) {
    for (Random random(seed); !stops_; ++uses_) {
      Slot& slot = *slots_[random.Below(kSlots)];
      const std::lock_guard lock(slot.mutex);
      Check(use(slot.memory(), Slot::kBytes), slot.generation());
    }
  }
  static char* MapAnywhere(size_t bytes) {
    const std::lock_guard lock(Slot::holes);
    void* const place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kAnonymous, -1, 0);
    CHECK(place != MAP_FAILED);
    return static_cast<char*>(place);
  }
  // Memory of this thread alone, at addresses that the kernel chooses: those that another thread
  // has just unmapped, or is unmapping.
  void UseAndUnmap(uint64_t seed, const Use& use) {
    for (Random random(seed + 200); !stops_; ++uses_) {
      const size_t bytes = (1 + random.Below(4)) * kPage;
      char* const memory = MapAnywhere(bytes);
      for (uint64_t times = 1 + random.Below(3); times > 0; --times) {
        const uint64_t stamp = (uint64_t{1} << 40) + ++last_stamp_;
        for (size_t at = 0; at < bytes; at += kPage) std::memcpy(memory + at, &stamp, 8);
        Check(use(memory, bytes), stamp);
        madvise(memory, bytes, MADV_DONTNEED);
      }
      CHECK(munmap(memory, bytes) == 0);
    }
  }
  // A program allocates and frees meanwhile, which maps and unmaps memory, too.
  void Allocate() {
    for (Random random(9); !stops_;) {
      std::vector<char> block(1 + random.Below(1 << 20));
      block[block.size() / 2] = 1;
    }
  }

  const Arguments arguments_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::atomic<bool> stops_ = false;
  std::atomic<uint64_t> uses_ = 0, changes_ = 0, stale_ = 0, last_stamp_ = 0;
};

std::optional<Arguments> Parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--long") {
      arguments.duration = std::chrono::minutes(10);
    } else if (word == "--seconds" && i + 1 < argc) {
      arguments.duration = std::chrono::seconds(std::atoi(argv[++i]));
    } else if (word == "--verbena") {
      arguments.over_verbena = true;
    } else if (word == "--no-userfaultfd") {
      arguments.uses_userfaultfd = false;
    } else if (word == "--off") {
      arguments.is_off = true;
    } else {
      return std::nullopt;
    }
  }
  return arguments;
}

}  // namespace
}  // namespace verbena

int main(int argc, char** argv) {
  const auto arguments = verbena::Parse(argc, argv);
  if (!arguments) {
    std::fprintf(stderr,
                 "cache_torture [--seconds N | --long] [--verbena] [--no-userfaultfd] [--off]\n");
    return 2;
  }
  return verbena::Torture(*arguments).Run() == 0 ? 0 : 1;
}
