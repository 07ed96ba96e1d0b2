// Every option of a device has an effect. A table has a row for each option: the test fails for an
// option without a row, and for an option whose change has no effect.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/pages.h"
#include "tests/support/process_status.h"
#include "tests/support/promise.h"
#include "tests/support/verbs_world.h"

namespace verbena {
namespace {

// ---- Effects that can be observed.

// How many of three objects can be made, while the earlier ones exist.
template <class Make>
uint64_t CountOfThree(Make make) {
  using Made = decltype(make());
  std::vector<Made> made;
  for (int i = 0; i < 3; ++i) {
    made.push_back(make());
    if (made.back()) continue;
    EXPECT_EQ(made.back().error().code, ErrorCode::kLimit) << made.back().error().text;
    return static_cast<uint64_t>(i);
  }
  return 3;
}

// 1 if the call failed.
template <class T>
uint64_t IsRefused(const ErrorOr<T>& result) {
  return result ? 0 : 1;
}

uint64_t QueuePairs(const Options& options) {
  const Context context = Good(Context::Open(options));
  const auto domain = Good(ProtectionDomain::Allocate(context));
  const auto cq = Good(CompletionQueue::Create(context, 16));
  return CountOfThree(
      [&] { return QueuePair::Create(domain, {.send_cq = &cq, .receive_cq = &cq}); });
}
uint64_t CompletionQueues(const Options& options) {
  const Context context = Good(Context::Open(options));
  return CountOfThree([&] { return CompletionQueue::Create(context, 16); });
}
uint64_t SharedQueues(const Options& options) {
  const Context context = Good(Context::Open(options));
  const auto domain = Good(ProtectionDomain::Allocate(context));
  return CountOfThree([&] { return SharedReceiveQueue::Create(domain, 4); });
}
uint64_t XrcDomains(const Options& options) {
  const Context context = Good(Context::Open(options));
  return CountOfThree([&] { return XrcDomain::Open(context); });
}
uint64_t Channels(const Options& options) {
  const Context context = Good(Context::Open(options));
  return CountOfThree([&] { return CompletionChannel::Create(context); });
}
uint64_t AddressHandles(const Options& options) {
  const Context context = Good(Context::Open(options));
  const auto domain = Good(ProtectionDomain::Allocate(context));
  const Gid here = *ParseGid("127.0.0.1");
  return CountOfThree(
      [&] { return AddressHandle::Create(domain, {.source = here, .destination = here}); });
}
uint64_t Domains(const Options& options) {
  const Context context = Good(Context::Open(options));
  return CountOfThree([&] { return ProtectionDomain::Allocate(context); });
}
uint64_t Windows(const Options& options) {
  const Context context = Good(Context::Open(options));
  const auto domain = Good(ProtectionDomain::Allocate(context));
  return CountOfThree([&] { return MemoryWindow::Allocate(domain, WindowType::k1); });
}
uint64_t Contexts(const Options& options) {
  Options shared = options;
  shared.dedicated_adapter = false;
  return CountOfThree([&] { return Context::Open(shared); });
}

// How many of three groups a queue pair can join, and how many of three queue pairs can join one
// group.
uint64_t Groups(const Options& options) {
  VerbsNode node("127.0.0.1", options);
  QueuePair qp = node.MakeQp(QpType::kUd);
  Good(qp.Activate(QKey{1}));
  uint64_t joined = 0;
  for (const char* const group : {"239.1.2.3", "239.1.2.4", "239.1.2.5"}) {
    joined += qp.AttachMulticast(*ParseGid(group)) ? 1 : 0;
  }
  return joined;
}
uint64_t Members(const Options& options) {
  VerbsNode node("127.0.0.1", options);
  std::vector<QueuePair> qps;
  uint64_t joined = 0;
  for (int i = 0; i < 3; ++i) {
    qps.push_back(node.MakeQp(QpType::kUd));
    Good(qps.back().Activate(QKey{1}));
    joined += qps.back().AttachMulticast(*ParseGid("239.1.2.3")) ? 1 : 0;
  }
  return joined;
}

uint64_t RefusesQueue(const Options& options, const QueueSize& send) {
  const VerbsNode node("127.0.0.1", options);
  QpSpec spec = node.Spec();
  spec.send = send;
  return IsRefused(QueuePair::Create(node.domain, spec));
}
uint64_t RefusesDepth(const Options& options) { return RefusesQueue(options, {.capacity = 100}); }
uint64_t RefusesSges(const Options& options) { return RefusesQueue(options, {.sges_max = 8}); }
uint64_t RefusesInline(const Options& options) { return RefusesQueue(options, {.inline_max = 64}); }
uint64_t RefusesPages(const Options& options) {
  const VerbsNode node("127.0.0.1", options);
  return IsRefused(MemoryRegion::Reserve(node.domain, 16));
}
uint64_t RefusesCompletions(const Options& options) {
  const Context context = Good(Context::Open(options));
  return IsRefused(CompletionQueue::Create(context, 1'000));
}
uint64_t RefusesReads(const Options& options) {
  const VerbsNode node("127.0.0.1", options);
  QueuePair qp = node.MakeQp();
  const QpAddress here{qp.number(), node.gid, Psn{1}};
  return IsRefused(qp.Connect(here, here, {.max_rd_atomic = 16}));
}

// Whether a device takes 100 MiB more address space than with VerbsTestOptions. The size varies by
// up to half of that, because the C library caches thread stacks, malloc keeps blocks and a
// sanitizer has memory of its own. So the minimum of several opens counts.
uint64_t TakesRoom(const Options& options) {
  constexpr uint64_t kKilobytes = 100 * 1'024;
  const auto taken = [](const Options& with) {
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 4; ++i) {
      const uint64_t before = ProcessStatus("VmSize");
      const Context context = Good(Context::Open(with));
      const uint64_t after = ProcessStatus("VmSize");
      least = std::min(least, after - std::min(before, after));
    }
    return least;
  };
  return taken(options) > taken(VerbsTestOptions()) + kKilobytes ? 1 : 0;
}
uint64_t Threads(const Options& options) {
  const Context context = Good(Context::Open(options));
  return ProcessStatus("Threads");
}

// The counters of a node after a write of `length` bytes to another node.
DeviceCounters CountersOfWrite(const Options& options, uint32_t length) {
  VerbsNode a("127.0.0.1", options), b("127.0.0.1", options);
  QueuePair qa = a.MakeQp(), qb = b.MakeQp();
  ConnectPair(a, qa, b, qb);
  EXPECT_TRUE(qa.Post(Write{.data = a.region.Local(0, length), .remote = b.region.Remote()}));
  EXPECT_EQ(a.WaitStatus(), CompletionStatus::kSuccess);
  return Good(a.context.Query());
}
// From memory that is not resident: pages that are need no request.
uint64_t PageRequests(const Options& options) {
  constexpr uint32_t kPages = 8;
  const memory::PagesForTest fresh(kPages);
  VerbsNode a("127.0.0.1", options), b("127.0.0.1", options);
  QueuePair qa = a.MakeQp(), qb = b.MakeQp();
  ConnectPair(a, qa, b, qb);
  const MemoryRegion region =
      Good(MemoryRegion::Register(a.domain, {fresh.data(), fresh.size()}, Access::kAll));
  EXPECT_TRUE(qa.Post(Write{.data = region.Local(0, kPages * 4'096), .remote = b.region.Remote()}));
  EXPECT_EQ(a.WaitStatus(), CompletionStatus::kSuccess);
  return Good(a.context.Query()).port.page_requests;
}
uint64_t GroupsDatagrams(const Options& options) {
  const SocketCounters sockets = CountersOfWrite(options, 60'000).sockets;
  return sockets.messages_sent < sockets.datagrams_sent ? 1 : 0;
}
// Whether a write within the process needs another pass of the engine after it was posted.
uint64_t NeedsPasses(const Options& options) {
  VerbsNode node("127.0.0.1", options);
  QueuePair from = node.MakeQp(), to = node.MakeQp();
  ConnectPair(node, from, node, to);
  const auto write = [&] {
    EXPECT_TRUE(
        from.Post(Write{.data = node.region.Local(0, 8), .remote = node.region.Remote(4'096)}));
  };
  write();  // pages in the memory
  EXPECT_EQ(node.WaitStatus(), CompletionStatus::kSuccess);
  uint64_t least = UINT64_MAX;  // the minimum, because the progress thread makes passes, too
  for (int i = 0; i < 20; ++i) {
    const uint64_t before = Good(node.context.Query()).port.passes;
    write();
    EXPECT_EQ(node.WaitStatus(), CompletionStatus::kSuccess);
    least = std::min(least, Good(node.context.Query()).port.passes - before);
  }
  return least > 0 ? 1 : 0;
}
uint64_t WriteStatus(const Options& options) {
  VerbsNode a("127.0.0.1", options), b("127.0.0.1", options);
  QueuePair qa = a.MakeQp(), qb = b.MakeQp();
  ConnectPair(a, qa, b, qb);
  EXPECT_TRUE(qa.Post(Write{.data = a.region.Local(0, 8), .remote = b.region.Remote()}));
  return static_cast<uint64_t>(*a.WaitStatus());
}
uint64_t NotesOfPages(const Options& options) {
  const Context context = Good(Context::Open(options));
  return static_cast<uint64_t>(
      std::ranges::count_if(context.TakeWarnings(), [](const auto& warning) {
        return warning.find("pages that the program gives up") != std::string::npos;
      }));
}

uint64_t PortInStrictMode(const Options& options) {
  Options strict = options;
  strict.strict = true;
  return Good(Context::Open(strict)).port();
}
uint64_t PortOfEndpointZero(const Options& options) {
  const Context first = Good(Context::Open(options));
  const Context second = Good(Context::Open(options));
  return uint64_t{second.port()} - second.endpoint();
}
uint64_t RefusesDatagrams(const Options& options) {
  const VerbsNode node("127.0.0.1", options);
  return IsRefused(QueuePair::Create(node.domain, node.Spec(QpType::kUd)));
}
uint64_t OpensTwice(const Options& options) {
  const Context first = Good(Context::Open(options));
  return Context::Open(options) ? 1 : 0;
}
std::string TraceFile() {
  return testing::TempDir() + "every_option_" + std::to_string(getpid()) + ".pcapng";
}
uint64_t TraceBytes(const Options& options) {
  { const Context context = Good(Context::Open(options)); }
  std::error_code none;
  const bool is_there = std::filesystem::remove(TraceFile(), none);
  return is_there ? 1 : 0;
}

// ---- The table.

struct Row {
  const char* name;
  const void* (*place)(const Options&);
  void (*change)(Options&) = nullptr;
  uint64_t (*effect)(const Options&) = nullptr;
  TestElsewhere elsewhere = {};

  friend void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }
};

template <auto kMember>
const void* PlaceOf(const Options& options) {
  return &(options.*kMember);
}
// An option for which `effect` differs between this value and that of VerbsTestOptions.
template <auto kMember, auto kValue>
Row Changes(const char* name, uint64_t (*effect)(const Options&)) {
  return {name, &PlaceOf<kMember>, [](Options& o) { o.*kMember = kValue; }, effect};
}
template <auto kMember>
Row Shown(const char* name, TestElsewhere elsewhere) {
  return {.name = name, .place = &PlaceOf<kMember>, .elsewhere = elsewhere};
}

constexpr char kGuest[] = "verbs/guest_test.cc";
constexpr char kProgressThread[] = "adapter/loop/progress_thread_test.cc";
const std::vector<Row>& Rows() {
  using O = Options;
  static const std::vector<Row> rows = {
      Shown<&O::dedicated_adapter>(
          "dedicated_adapter",
          {"verbs/adapter_table_test.cc", "AdapterTableTest, ADedicatedAdapterIsNotShared"}),
      Changes<&O::qps_max, 2U>("qps_max", &QueuePairs),
      Changes<&O::cqs_max, 2U>("cqs_max", &CompletionQueues),
      Changes<&O::srqs_max, 2U>("srqs_max", &SharedQueues),
      Shown<&O::tags_max>("tags_max", {"adapter/control/adapter_queues_test.cc",
                                       "AdapterQueuesTest, "
                                       "AQueueThatMatchesTagsHasLimitsAndACompletionQueue"}),
      Changes<&O::xrc_domains_max, 2U>("xrc_domains_max", &XrcDomains),
      Changes<&O::channels_max, 2U>("channels_max", &Channels),
      Changes<&O::contexts_max, 2U>("contexts_max", &Contexts),
      Changes<&O::paths_max, 2U>("paths_max", &AddressHandles),
      Changes<&O::multicast_groups_max, 2U>("multicast_groups_max", &Groups),
      Changes<&O::multicast_members_max, 2U>("multicast_members_max", &Members),
      Shown<&O::multicast_endpoints>(
          "multicast_endpoints",
          {"adapter/control/multicast_test.cc",
           "MulticastEndpointsTest, AProcessThatJoinsTakesOneOfThemIfThereIsOne"}),
      Changes<&O::domains_max, 2U>("domains_max", &Domains),
      Changes<&O::key_slots_max, 2U>("key_slots_max", &Windows),
      Changes<&O::queue_depth_max, 64U>("queue_depth_max", &RefusesDepth),
      Changes<&O::sges_max, 4U>("sges_max", &RefusesSges),
      Changes<&O::inline_max, 32U>("inline_max", &RefusesInline),
      Changes<&O::fast_register_pages, 8U>("fast_register_pages", &RefusesPages),
      Changes<&O::completion_depth_max, 512U>("completion_depth_max", &RefusesCompletions),
      Changes<&O::reads_max, uint8_t{8}>("reads_max", &RefusesReads),
      Changes<&O::outbox_packets, size_t{32'768}>("outbox_packets", &TakesRoom),
      Changes<&O::runs_per_pass, size_t{1}>("runs_per_pass", &NeedsPasses),
      Changes<&O::loopback_packets, size_t{1} << 20>("loopback_packets", &TakesRoom),
      Shown<&O::work_retry>("work_retry", {"adapter/loop/engine_test.cc",
                                           "EngineRetryTest, RemainingWorkIsDoneInTime"}),
      Shown<&O::events_max>("events_max",
                            {"verbs/adapter_table_test.cc",
                             "AdapterTableTest, CountsASharedAdapterOnceAlsoAfterItsEnd"}),
      Shown<&O::poll_recent>("poll_recent", {kProgressThread,
                                             "ProgressThreadLongPollsThreads, "
                                             "PollsDoNotMakeItBackOffOncePacketsHaveWaitedForIt"}),
      Shown<&O::backoff_min>(
          "backoff_min",
          {kProgressThread, "ProgressThreadLongBackoffThreads, IsArmedAtOnceWhenAskedTo"}),
      Shown<&O::backoff_max>(
          "backoff_max",
          {kProgressThread, "ProgressThreadLongBackoffThreads, IsArmedAtOnceWhenAskedTo"}),
      Shown<&O::spin>("spin",
                      {"adapter/loop/spin_wait_test.cc", "SpinWaitTest, AMaximumOfZeroNeverSpins"}),
      Changes<&O::pager_threads, 5U>("pager_threads", &Threads),
      Shown<&O::pager_threads_max>(
          "pager_threads_max",
          {"odp/pager_stuck_test.cc", "PagerStuckThreads, TheLimitIsReportedOnce"}),
      Changes<&O::page_batch_max, uint64_t{4'096}>("page_batch_max", &PageRequests),
      Shown<&O::pin>("pin", {"adapter/control/adapter_memory_test.cc",
                             "AdapterMemoryTest, PinnedRegionsArePresentFromTheFirstAccess"}),
      Changes<&O::page_events, true>("page_events", &NotesOfPages),
      Shown<&O::memory_budget>(
          "memory_budget",
          {"adapter/control/takeover_memory_test.cc",
           "TakeoverMemoryThreads, RegisteredMemoryIsUnderTheBudgetAndReadsBackUnchanged"}),
      Shown<&O::memory_budget_strict>(
          "memory_budget_strict",
          {"adapter/control/takeover_memory_test.cc",
           "TakeoverMemoryOptionsTest, AStrictBudgetThatCannotBeKeptIsAnError"}),
      Shown<&O::guest>("guest", {kGuest, "GuestThreads, OptionsReachTheBroker"}),
      Shown<&O::guest_min>("guest_min",
                           {kGuest, "GuestThreads, RefusesMoreManagedMemoryThanItsMinimumAllows"}),
      Shown<&O::guest_max>("guest_max", {kGuest, "GuestThreads, OptionsReachTheBroker"}),
      Shown<&O::guest_weight>("guest_weight", {kGuest, "GuestThreads, OptionsReachTheBroker"}),
      Shown<&O::broker>("broker", {kGuest, "GuestThreads, AGuestNeedsABrokerThatAgrees"}),
      Shown<&O::swap>("swap",
                      {"adapter/control/takeover_memory_test.cc",
                       "TakeoverMemoryOptionsTest, AMissingSwapDirectoryLeavesMemoryNative"}),
      Shown<&O::on_urgent_warning>(
          "on_urgent_warning", {"adapter/control/managed_pages_test.cc",
                                "ManagedPagesTest, AFullStoreIsReportedWhileTheProgramIsBlocked"}),
      Shown<&O::key_quarantine>("key_quarantine",
                                {"adapter/control/key_quarantine_test.cc",
                                 "KeyQuarantine, SlotsAreReusedAfterTheQuarantine"}),
      Changes<&O::remote_through_regions, false>("remote_through_regions", &WriteStatus),
      Changes<&O::transport, TransportType::kIwarp>("transport", &RefusesDatagrams),
      Shown<&O::mpa_revision>("mpa_revision",
                              {"verbs/iwarp_test.cc", "IwarpRequestTest, HasTheChosenRevision"}),
      Shown<&O::mpa_crc>("mpa_crc", {"verbs/iwarp_test.cc", "IwarpRequestTest, NeedNotWantACrc"}),
      {"base_port", &PlaceOf<&O::base_port>, [](O& o) { --o.base_port; }, &PortInStrictMode},
      {"endpoint_base_port", &PlaceOf<&O::endpoint_base_port>, [](O& o) { ++o.endpoint_base_port; },
       &PortOfEndpointZero},
      Shown<&O::endpoints_max>("endpoints_max",
                               {"adapter/control/endpoint_claims_test.cc",
                                "EndpointClaims, AMachineWithoutAFreeEndpointIsALimit"}),
      Changes<&O::strict, true>("strict", &OpensTwice),
      Shown<&O::identity_seed>("identity_seed",
                               {"adapter/control/endpoint_claims_test.cc",
                                "EndpointClaims, TheSeedDeterminesEndpointAndNumbers"}),
      Changes<&O::plain_sockets, true>("plain_sockets", &GroupsDatagrams),
      {"trace", &PlaceOf<&O::trace>, [](O& o) { o.trace = TraceFile(); }, &TraceBytes},
  };
  return rows;
}

class EveryOptionTest : public testing::TestWithParam<Row> {};

TEST_P(EveryOptionTest, HasAnEffect) {
  const Row& row = GetParam();
  if (row.effect == nullptr) {
    EXPECT_TRUE(Exists(row.elsewhere)) << row.elsewhere.file << ": " << row.elsewhere.name;
    return;
  }
  Options changed = VerbsTestOptions();
  row.change(changed);
  ASSERT_NE(changed, VerbsTestOptions());
  EXPECT_NE(row.effect(changed), row.effect(VerbsTestOptions()));
}

INSTANTIATE_TEST_SUITE_P(Options, EveryOptionTest, testing::ValuesIn(Rows()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(EveryOptionTableTest, HasARowForEveryMember) {
  const Options options;
  std::set<const void*> places;
  for (const Row& row : Rows()) places.insert(row.place(options));
  EXPECT_EQ(places.size(), Rows().size()) << "a member has two rows";
  EXPECT_EQ(places.size(), MemberCount<Options>()) << "a new option needs a row above";
}

// Other tests show the effect of each option of a region.
TEST(EveryOptionTableTest, RegionOptionsAreShownElsewhere) {
  const TestElsewhere tests[] = {
      {"verbs/memory_region_test.cc", "MemoryRegionTest, StartsAtTheGivenAddress"},  // start
      {"verbs/memory_region_test.cc", "MemoryRegionTest, StartsAtTheGivenAddress"},  // zero_based
      {"verbs/memory_region_test.cc", "MemoryRegionTest, AOneTouchRegionEndsWithItsFirstMessage"},
      {"verbs/memory_region_test.cc", "MemoryRegionTest, CanHaveSeparateLocalAndRemoteKeys"},
      {"ibverbs/objects/mr_test.cc", "MrTest, MemoryThatIsNotMappedIsRefusedUnlessOnDemand"},
      {"verbs/current_io_test.cc", "RegionIoTest, SwapOutWaitsForTheLastOperation"},
      {"verbs/current_io_test.cc", "RegionIoTest, AStrictRegionRefusesWhileItIsOut"},
  };
  EXPECT_EQ(std::size(tests), MemberCount<RegionOptions>()) << "a new option needs a line above";
  for (const TestElsewhere& test : tests) EXPECT_TRUE(Exists(test)) << test.name;
}

}  // namespace
}  // namespace verbena
