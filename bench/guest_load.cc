// A guest whose managed memory is read all the time, by itself: for the throughput of guests beside
// each other. Prints mebibytes per second.
//
//   guest_load NAME SOCKET MIB SECONDS
//
// With 0 seconds it writes all of the memory every 50 ms until it is killed, and prints nothing.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "examples/support/endpoint.h"

namespace {

using examples::Must;
using Clock = std::chrono::steady_clock;

constexpr uint32_t kBytes = 65'536;  // of a read
constexpr uint64_t kAtOnce = 8;

verbena::Options OptionsOf(const char* name, const char* socket) {
  verbena::Options options;
  options.guest = name;
  options.broker = socket;
  options.guest_min = uint64_t{1} << 20;
  return options;
}

// Reads all of the memory again and again; how many bytes.
uint64_t ReadFor(const verbena::QueuePair& qp, const verbena::CompletionQueue& cq,
                 const verbena::MemoryRegion& to, const verbena::MemoryRegion& from, uint64_t size,
                 double seconds) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  uint64_t posted = 0;
  uint64_t done = 0;
  while (done < posted || Clock::now() < end) {
    while (posted - done < kAtOnce && Clock::now() < end) {
      const uint64_t at = posted % (size / kBytes) * kBytes;
      Must(qp.Post(verbena::Read{.data = to.Local(posted % kAtOnce * kBytes, kBytes),
                                 .remote = from.Remote(at)}));
      ++posted;
    }
    verbena::Completion completion;
    if (cq.Poll({&completion, 1}).value_or(0) == 0) continue;
    if (!completion.ok()) std::exit(1);
    ++done;
  }
  return done * kBytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: guest_load NAME SOCKET MIB SECONDS\n");
    return 2;
  }
  const uint64_t size = std::strtoull(argv[3], nullptr, 10) << 20;
  const double seconds = std::strtod(argv[4], nullptr);
  const auto context = Must(verbena::Context::Open(OptionsOf(argv[1], argv[2])));
  const auto domain = Must(verbena::ProtectionDomain::Allocate(context));
  const auto cq = Must(verbena::CompletionQueue::Create(context, 64));
  auto a = Must(verbena::QueuePair::Create(domain, {.send_cq = &cq, .receive_cq = &cq}));
  auto b = Must(verbena::QueuePair::Create(domain, {.send_cq = &cq, .receive_cq = &cq}));
  const verbena::Gid here = *verbena::ParseGid("127.0.0.1");
  const verbena::QpAddress at_a{a.number(), here}, at_b{b.number(), here};
  Must(a.Connect(at_a, at_b));
  Must(b.Connect(at_b, at_a));
  const auto memory = Must(verbena::ManagedMemory::Create(context, {.size = size, .budget = size}));
  const std::span<std::byte> all = memory.bytes();
  std::memset(all.data(), 7, size);
  const auto region =
      Must(verbena::MemoryRegion::Register(domain, memory.bytes(), verbena::Access::kAll));
  for (int i = 0; seconds == 0; ++i) {
    std::memset(all.data(), i, size);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  std::vector<std::byte> buffer(kAtOnce * kBytes);
  const auto local = Must(verbena::MemoryRegion::Register(domain, buffer, verbena::Access::kAll));
  static_cast<void>(ReadFor(a, cq, local, region, size, seconds / 4));
  const auto start = Clock::now();
  const uint64_t bytes = ReadFor(a, cq, local, region, size, seconds);
  const std::chrono::duration<double> taken = Clock::now() - start;
  std::printf("%.1f\n", static_cast<double>(bytes) / (1 << 20) / taken.count());
  return 0;
}
