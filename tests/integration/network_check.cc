// The client of the tests on real networks: transfers checked data to and from a server, which is
// `verbena ping`, and prints the results as JSON.
//
//   network_check check HOST PORT ROUNDS           all operations, on RC, UC and UD
//   network_check load HOST PORT QPS SECONDS       all operations of RC in parallel
//   network_check idle HOST PORT QPS SECONDS       queue pairs that are used once and then idle
//   network_check survive HOST PORT                reads "HOST PORT" lines of servers that will be
//                                                  killed; prints the error of each; continues with
//                                                  the first server

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/integration/messenger.h"
#include "tests/integration/mixer.h"

namespace verbena::integration {
namespace {

using Clock = std::chrono::steady_clock;
using Arguments = std::vector<std::string>;

constexpr uint32_t kDepth = 4;

void PrintJson(const nlohmann::json& json) {
  std::printf("%s\n", json.dump().c_str());
  std::fflush(stdout);
}

uint64_t ResidentKib() {
  std::ifstream file("/proc/self/statm");
  uint64_t total = 0;
  uint64_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) / 1'024;
}

cli::Peer PeerFrom(const std::string& host, const std::string& port) {
  return {.host = host, .port = static_cast<uint16_t>(std::stoul(port))};
}

nlohmann::json CountersOf(const cli::Endpoint& endpoint) {
  const auto counters = endpoint.context().Query();
  if (!counters) return {};
  nlohmann::json json = {{"packets_sent", counters->port.packets_sent},
                         {"packets_received", counters->port.packets_received},
                         {"kernel_drops", counters->sockets.kernel_drops},
                         {"progress_thread_wake_ups", counters->progress_thread_wake_ups}};
  for (size_t i = 0; i < kDrops; ++i) {
    json["dropped"][NameOf(static_cast<Drop>(i))] = counters->port.dropped[i];
  }
  return json;
}

// Runs until `enough` returns true, and then until everything has completed.
ErrorOr<void> RunMixer(Mixer& mixer, const std::function<bool()>& enough) {
  auto done = mixer.Start();
  while (done && !enough()) done = mixer.Poll();
  mixer.Stop();
  while (done && mixer.under_way()) done = mixer.Poll();
  return done;
}

ErrorOr<void> CheckReliable(const cli::Peer& peer, uint64_t rounds) {
  constexpr uint32_t kQps = 4;
  auto client = cli::Client::Join(peer, Mixer::RequestFor(kQps), kDepth);
  if (!client) return tl::unexpected(std::move(client.error()));
  Mixer mixer((*client)->endpoint(), rounds);
  auto done = RunMixer(mixer, [&] { return mixer.rounds_min() >= rounds; });
  PrintJson({{"service", "RC"},
             {"operations", mixer.operations()},
             {"mtu", BytesOf((*client)->mtu())},
             {"counters", CountersOf((*client)->endpoint())}});
  return done;
}

ErrorOr<void> CheckUnreliable(const cli::Peer& peer, QpType type, uint64_t count) {
  const cli::ServerRequest ask = Messenger::RequestFor(type);
  auto client = cli::Client::Join(peer, ask, Messenger::kReceives);
  if (!client) return tl::unexpected(std::move(client.error()));
  Messenger messenger((*client)->endpoint(), static_cast<uint32_t>(ask.message));
  const auto result = messenger.Run(count);
  if (!result) return tl::unexpected(result.error());
  PrintJson({{"service", NameOf(type)}, {"sent", result->sent}, {"echoed", result->echoed}});
  return {};
}

ErrorOr<void> Check(const Arguments& arguments) {
  const cli::Peer peer = PeerFrom(arguments[0], arguments[1]);
  const uint64_t rounds = std::stoul(arguments[2]);
  auto done = CheckReliable(peer, rounds);
  if (done) done = CheckUnreliable(peer, QpType::kUc, rounds);
  if (done) done = CheckUnreliable(peer, QpType::kUd, rounds);
  return done;
}

ErrorOr<void> Load(const Arguments& arguments) {
  const auto qps = static_cast<uint32_t>(std::stoul(arguments[2]));
  auto client =
      cli::Client::Join(PeerFrom(arguments[0], arguments[1]), Mixer::RequestFor(qps), kDepth);
  if (!client) return tl::unexpected(std::move(client.error()));
  Mixer mixer((*client)->endpoint(), qps);
  // Measures memory after a third of the time, when most pages have been touched.
  const auto begin = Clock::now();
  const std::chrono::duration<double> time(std::stod(arguments[3]));
  uint64_t resident_early = 0;
  auto done = RunMixer(mixer, [&] {
    if (resident_early == 0 && Clock::now() - begin > time / 3) resident_early = ResidentKib();
    return Clock::now() - begin > time;
  });
  PrintJson({{"operations", mixer.operations()},
             {"under_way", mixer.under_way()},
             {"rounds_min", mixer.rounds_min()},
             {"resident_early_kib", resident_early},
             {"resident_kib", ResidentKib()},
             {"counters", CountersOf((*client)->endpoint())}});
  return done;
}

// Posts a write on each queue pair, and waits until all have completed.
ErrorOr<void> UseOnce(cli::Endpoint& endpoint) {
  for (const QueuePair& qp : endpoint.qps()) {
    auto done = cli::InWords(
        qp.Post(Write{.data = endpoint.region().Local(0, 64), .remote = endpoint.remote(0)}));
    if (!done) return done;
  }
  std::array<Completion, 64> completions{};
  for (size_t ended = 0; ended < endpoint.qps().size();) {
    const auto count = endpoint.cq().Poll(completions);
    if (!count) return tl::unexpected(cli::InWords(count.error()));
    for (const Completion& one : std::span(completions).first(*count)) {
      if (!one.ok()) return tl::unexpected(cli::InWords(one));
    }
    ended += *count;
  }
  return {};
}

ErrorOr<void> Idle(const Arguments& arguments) {
  const auto qps = static_cast<uint32_t>(std::stoul(arguments[2]));
  const cli::ServerRequest ask{.qps = qps, .receives = 1, .sleeps = true};
  auto client = cli::Client::Join(PeerFrom(arguments[0], arguments[1]), ask, kDepth);
  if (!client) return tl::unexpected(std::move(client.error()));
  cli::Endpoint& endpoint = (*client)->endpoint();
  if (auto done = UseOnce(endpoint); !done) return done;
  std::this_thread::sleep_for(std::chrono::seconds(1));  // until the last timers have expired
  const auto before = CountersOf(endpoint);
  PrintJson({{"idle_pid", getpid()}});
  std::this_thread::sleep_for(std::chrono::duration<double>(std::stod(arguments[3])));
  const auto after = CountersOf(endpoint);
  PrintJson({{"wake_ups", after["progress_thread_wake_ups"].get<uint64_t>() -
                              before["progress_thread_wake_ups"].get<uint64_t>()}});
  return {};
}

// A timeout of 17 ms and seven retries, for a short path.
constexpr ConnectSettings kShortPath{.timeout = 12, .retry_count = 7};

constexpr auto kProbePeriod = std::chrono::milliseconds(50);

// Runs until the server, which the test kills, stops responding. Returns the error.
ErrorOr<void> Outlive(const cli::Peer& peer, uint64_t seed) {
  auto client = cli::Client::Join(peer, Mixer::RequestFor(8), kDepth, kShortPath);
  if (!client) return tl::unexpected(std::move(client.error()));
  PrintJson({{"connected", true}});
  Mixer mixer((*client)->endpoint(), seed);
  auto done = mixer.Start();
  auto next_probe = Clock::now() + kProbePeriod;
  while (done) {
    done = mixer.Poll();
    if (!done || Clock::now() < next_probe) continue;
    done = mixer.Probe();
    next_probe += kProbePeriod;
  }
  return done;
}

ErrorOr<void> Survive(const Arguments& arguments) {
  auto control =
      cli::Client::Join(PeerFrom(arguments[0], arguments[1]), Mixer::RequestFor(2), kDepth);
  if (!control) return tl::unexpected(std::move(control.error()));
  std::string host;
  std::string port;
  Mixer mixer((*control)->endpoint(), 1);
  auto done = mixer.Start();
  for (uint64_t seed = 1; done && (std::cin >> host >> port); ++seed) {
    const auto ended = Outlive(PeerFrom(host, port), seed);
    PrintJson({{"error", ended ? "none" : ended.error().text}});
    const uint64_t rounds = mixer.rounds_min();
    while (done && mixer.rounds_min() < rounds + 5) done = mixer.Poll();
    PrintJson({{"continues", done.has_value()}});
  }
  return done;
}

int Run(const std::string& mode, const Arguments& arguments) {
  struct Mode {
    size_t arguments;
    std::function<ErrorOr<void>(const Arguments&)> run;
  };
  const std::map<std::string, Mode> modes = {
      {"check", {3, Check}}, {"load", {4, Load}}, {"idle", {4, Idle}}, {"survive", {2, Survive}}};
  const auto found = modes.find(mode);
  if (found == modes.end() || found->second.arguments != arguments.size()) {
    std::fprintf(stderr, "usage: see the comment at the top of network_check.cc\n");
    return 2;
  }
  const auto done = found->second.run(arguments);
  if (done) return EXIT_SUCCESS;
  std::fprintf(stderr, "network_check %s: %s\n", mode.c_str(), done.error().text.c_str());
  return EXIT_FAILURE;
}

}  // namespace
}  // namespace verbena::integration

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) return verbena::integration::Run("", {});
  return verbena::integration::Run(words[0], {words.begin() + 1, words.end()});
}
