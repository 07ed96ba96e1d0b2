// The cost of many queue pairs: the time to create, connect and destroy one, and its memory, with
// 1,000, 10,000 and COUNT queue pairs. A program on the public API. Both ends are in this process;
// a message over the first and the last connection checks that they work.
//
//   many_qps [COUNT]

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "verbena/verbena.h"

namespace {

using namespace verbena;  // NOLINT(google-build-using-namespace): a program on the API
using Clock = std::chrono::steady_clock;

constexpr size_t kPageKib = 4;

template <class T>
T Must(ErrorOr<T> result) {
  if (!result) {
    std::fprintf(stderr, "many_qps: %s\n", result.error().text.c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

size_t ResidentKib() {
  std::ifstream statm("/proc/self/statm");
  size_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * kPageKib;
}

double MicrosecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

class Device {
 public:
  QueuePair Make() {
    return Must(QueuePair::Create(domain_, {.type = QpType::kRc,
                                            .send_cq = &cq_,
                                            .receive_cq = &cq_,
                                            .send = {.capacity = 16, .sges_max = 1},
                                            .receive = {.capacity = 16, .sges_max = 1}}));
  }
  // False if the message fails or arrives with a wrong value.
  bool Delivers(const QueuePair& from, const QueuePair& to, uint8_t value) {
    bytes_[0] = std::byte{value};
    bytes_[1] = std::byte{0};
    if (!to.Post(Receive{.id = WrId{2}, .data = region_.Local(1, 1)})) return false;
    if (!from.Post(Send{.id = WrId{1}, .data = region_.Local(0, 1)})) return false;
    for (int ended = 0; ended < 2;) {
      Completion completion;
      const auto count = cq_.Poll({&completion, 1});
      if (!count || (*count > 0 && completion.status != CompletionStatus::kSuccess)) return false;
      ended += static_cast<int>(*count);
    }
    return bytes_[1] == std::byte{value};
  }

  Context context = Must(Context::Open());

 private:
  ProtectionDomain domain_ = Must(ProtectionDomain::Allocate(context));
  CompletionQueue cq_ = Must(CompletionQueue::Create(context, 1'024));
  std::vector<std::byte> bytes_ = std::vector<std::byte>(64);
  MemoryRegion region_ = Must(MemoryRegion::Register(domain_, bytes_, Access::kLocal));
};

void Connect(QueuePair& a, QueuePair& b, const Gid& gid) {
  const QpAddress of_a{.qp = a.number(), .gid = gid}, of_b{.qp = b.number(), .gid = gid};
  Must(a.Connect(of_a, of_b));
  Must(b.Connect(of_b, of_a));
}

void Measure(size_t count) {
  Device device;
  const Gid gid = *ParseGid("127.0.0.1");
  const auto each = static_cast<double>(count);
  std::vector<QueuePair> qps;
  qps.reserve(count);
  const size_t before = ResidentKib();
  auto start = Clock::now();
  for (size_t i = 0; i < count; ++i) qps.push_back(device.Make());
  const double made = MicrosecondsSince(start) / each;
  const size_t made_kib = ResidentKib() - before;
  start = Clock::now();
  for (size_t i = 0; i + 1 < count; i += 2) Connect(qps[i], qps[i + 1], gid);
  const double connected = MicrosecondsSince(start) / each;
  const size_t connected_kib = ResidentKib() - before;
  if (!device.Delivers(qps[0], qps[1], 0xA1) ||
      !device.Delivers(qps[count - 1], qps[count - 2], 0xB2)) {
    std::fprintf(stderr, "many_qps: a message did not arrive with %zu queue pairs\n", count);
    std::exit(1);
  }
  start = Clock::now();
  qps.clear();
  const double ended = MicrosecondsSince(start) / each;
  std::printf(
      "%7zu queue pairs: create %6.2f us, %5.2f KiB; connect %6.2f us, %5.2f KiB in total; "
      "destroy %6.2f us\n",
      count, made, static_cast<double>(made_kib) / each, connected,
      static_cast<double>(connected_kib) / each, ended);
}

}  // namespace

int main(int argc, char** argv) {
  const size_t most = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100'000;
  for (size_t count = 1'000; count < most; count *= 10) Measure(count);
  Measure(most / 2 * 2);
  return 0;
}
