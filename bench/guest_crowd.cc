// A thousand guests of a mebibyte each under one broker: one line for each figure.
//
//   guest_crowd [GUESTS]     1,000 if left out

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "base/clock.h"
#include "host/broker.h"
#include "tests/support/small_guest.h"

namespace {

using verbena::host::Broker;
using verbena::host::SmallGuest;

double Milliseconds(verbena::Duration duration) {
  return static_cast<double>(duration.nanoseconds()) / 1e6;
}

void Show(const char* what, double value, const char* unit) {
  std::printf("%-58s %10.2f %s\n", what, value, unit);
}

verbena::Duration ProcessorTime() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return verbena::Seconds(now.tv_sec) + verbena::Nanoseconds(now.tv_nsec);
}

// Guests without a process of their own, beside their broker in one thread.
class Crowd {
 public:
  Crowd(const std::string& folder, size_t count) {
    verbena::host::BrokerOptions options;
    options.socket = folder + "/broker.sock";
    options.arbiter.budget = count * SmallGuest::kBytes / 16;
    auto opened = Broker::Open(options);
    if (!opened) Fail(opened.error().text);
    broker_ = std::move(*opened);
    for (size_t i = 0; i < count; ++i) {
      auto guest = SmallGuest::Connect(options.socket, "guest" + std::to_string(i));
      if (!guest) Fail(guest.error().text);
      guests_.push_back(std::move(*guest));
      Serve();
    }
  }

  void Attach() {
    while (!std::ranges::all_of(guests_, &SmallGuest::has_minimum)) Step();
  }
  void Step() {
    Serve();
    for (SmallGuest& guest : guests_) guest.Step();
  }
  [[nodiscard]] verbena::Duration used() const { return used_; }

  [[noreturn]] static void Fail(const std::string& why) {
    std::fprintf(stderr, "guest_crowd: %s\n", why.c_str());
    std::exit(1);
  }

 private:
  void Serve() {
    const verbena::Duration before = ProcessorTime();
    broker_->Step(verbena::Duration());
    used_ += ProcessorTime() - before;
  }

  std::unique_ptr<Broker> broker_;
  std::vector<SmallGuest> guests_;
  verbena::Duration used_;
};

}  // namespace

int main(int argc, char** argv) {
  const uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000;
  if (count == 0 || count > 4'096) {
    std::fprintf(stderr, "usage: guest_crowd [GUESTS]\n");
    return 2;
  }
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  std::string folder = "/tmp/verbena-crowd-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) Crowd::Fail("no folder in /tmp");
  {
    const verbena::Time start = verbena::Now();
    Crowd crowd(folder, count);
    crowd.Attach();
    Show("guests of 1 MiB that have attached", static_cast<double>(count), "guests");
    Show("until all of them have their minimum", Milliseconds(verbena::Now() - start), "ms");
    const verbena::Duration before = crowd.used();
    for (const verbena::Time end = verbena::Now() + verbena::Seconds(2); verbena::Now() < end;) {
      crowd.Step();
    }
    Show("the broker's processor time for each second after that",
         Milliseconds(crowd.used() - before) / 2, "ms");
  }
  std::filesystem::remove_all(folder);
  return 0;
}
