// Every counter of a device and of a queue pair can change. The table has a row for each counter:
// the test fails for a counter without a row, and for one that no operation below has changed.

#include <sys/mman.h>

#include <bit>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/promise.h"
#include "tests/support/verbs_world.h"
#include "verbs/counters.h"

namespace verbena {
namespace {

// ---- Operations.

void Add(QpCounters& sum, const QpCounters& counters) {
  using Words = std::array<uint64_t, sizeof(QpCounters) / sizeof(uint64_t)>;
  Words words = std::bit_cast<Words>(sum);
  const auto more = std::bit_cast<Words>(counters);
  for (size_t i = 0; i < words.size(); ++i) words[i] += more[i];
  sum = std::bit_cast<QpCounters>(words);
}

class EveryCounterTest : public testing::Test {
 protected:
  // Two connected nodes.
  struct Pair {
    explicit Pair(EveryCounterTest& of, QpType type = QpType::kRc,
                  const Options& options = VerbsTestOptions())
        : test(of), a("127.0.0.1", options), b("127.0.0.1", options) {
      qa = a.MakeQp(type);
      qb = b.MakeQp(type);
      if (type == QpType::kUd) {
        Good(qa.Activate(QKey{1}));
        Good(qb.Activate(QKey{1}));
      } else {
        ConnectPair(a, qa, b, qb);
      }
    }
    ~Pair() {
      for (const VerbsNode* const node : {&a, &b}) {
        verbs::Add(test.device_, Good(node->context.Query()));
      }
      for (const QueuePair* const qp : {&qa, &qb}) Add(test.qp_, Good(qp->Query()).counters);
    }
    std::optional<CompletionStatus> Do(const auto& request) {
      EXPECT_TRUE(qa.Post(request));
      return a.WaitStatus();
    }

    EveryCounterTest& test;
    VerbsNode a, b;
    QueuePair qa, qb;
  };

  void Exchange() {
    Pair pair(*this);
    EXPECT_EQ(
        pair.Do(Write{.data = pair.a.region.Local(0, 60'000), .remote = pair.b.region.Remote()}),
        CompletionStatus::kSuccess);
    EXPECT_EQ(
        pair.Do(Read{.data = pair.a.region.Local(0, 60'000), .remote = pair.b.region.Remote()}),
        CompletionStatus::kSuccess);
    // The peer has no receive posted at first.
    ASSERT_TRUE(pair.qa.Post(Send{.data = pair.a.region.Local(0, 8)}));
    while (Good(pair.qa.Query()).counters.rnr_naks == 0) static_cast<void>(pair.a.cq.Poll({}));
    ASSERT_TRUE(pair.qb.Post(Receive{.data = pair.b.region.Local(0, 8)}));
    EXPECT_EQ(pair.a.WaitStatus(), CompletionStatus::kSuccess);
  }

  void ExchangeWithinTheProcess() {
    Pair pair(*this);
    QueuePair here = pair.a.MakeQp(), there = pair.a.MakeQp();
    ConnectPair(pair.a, here, pair.a, there);
    ASSERT_TRUE(
        here.Post(Write{.data = pair.a.region.Local(0, 8), .remote = pair.a.region.Remote()}));
    EXPECT_EQ(pair.a.WaitStatus(), CompletionStatus::kSuccess);
  }

  void WriteToUnmappedMemory() {
    Pair pair(*this);
    void* const pages =
        mmap(nullptr, 8'192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const auto region = Good(MemoryRegion::Register(
        pair.b.domain, {static_cast<std::byte*>(pages), 8'192}, Access::kAll));
    mprotect(pages, 8'192, PROT_NONE);
    EXPECT_EQ(pair.Do(Write{.data = pair.a.region.Local(0, 8), .remote = region.Remote()}),
              CompletionStatus::kRemoteAccessError);
    munmap(pages, 8'192);
  }

  void LoseAPeer() {
    Pair pair(*this);
    pair.qb = pair.b.MakeQp();  // the old one ends
    QueuePair alone = pair.a.MakeQp();
    const QpAddress here{alone.number(), pair.a.gid, Psn{1}};
    const QpAddress gone{QpNumber{pair.qb.number()}, pair.b.gid, Psn{1}};
    Good(alone.Connect(here, gone, {.timeout = 8, .retry_count = 1}));
    ASSERT_TRUE(alone.Post(Send{.data = pair.a.region.Local(0, 8)}));
    EXPECT_EQ(pair.a.WaitStatus(), CompletionStatus::kRetryExceeded);
    Add(qp_, Good(alone.Query()).counters);
  }

  void LoseEvents() {
    Options options = VerbsTestOptions();
    options.events_max = 1;
    Pair pair(*this, QpType::kRc, options);
    std::vector<QueuePair> qps;  // destroying a queue pair drops its events
    for (int i = 0; i < 3; ++i) {
      qps.push_back(pair.b.MakeQp());
      QueuePair qa = pair.a.MakeQp();
      ConnectPair(pair.a, qa, pair.b, qps.back());
      ASSERT_TRUE(qa.Post(Write{.data = pair.a.region.Local(0, 8), .remote = {8, Key{1}}}));
      EXPECT_EQ(pair.a.WaitStatus(), CompletionStatus::kRemoteAccessError);
    }
  }

  void DropUnreliably() {
    Pair pair(*this, QpType::kUc);
    const auto until = [&](auto moved) {
      for (const Time end = Now() + Seconds(10); Now() < end;) {
        static_cast<void>(pair.b.cq.Poll({}));
        if (moved(Good(pair.qb.Query()).counters) > 0) return true;
      }
      return false;
    };
    EXPECT_EQ(pair.Do(Send{.data = pair.a.region.Local(0, 8)}), CompletionStatus::kSuccess);
    EXPECT_TRUE(until([](const QpCounters& c) { return c.dropped_no_receive; }));
    EXPECT_EQ(pair.Do(Write{.data = pair.a.region.Local(0, 8), .remote = {8, Key{1}}}),
              CompletionStatus::kSuccess);
    EXPECT_TRUE(until([](const QpCounters& c) { return c.dropped_refused; }));
  }

  // A key with the index of `key` and another variant.
  static Key StaleOf(Key key) { return Key{key.value() ^ 1}; }

  // Posts a request on a connection of its own, which must fail with this letter of the check.
  void Refuse(char check, const auto& make, CompletionStatus status) {
    Pair pair(*this);
    const auto other = Good(ProtectionDomain::Allocate(pair.a.context));
    const auto foreign = Good(MemoryRegion::Register(other, pair.a.memory, Access::kAll));
    const auto other_b = Good(ProtectionDomain::Allocate(pair.b.context));
    const auto foreign_b = Good(MemoryRegion::Register(other_b, pair.b.memory, Access::kAll));
    const auto window = Good(MemoryWindow::Allocate(pair.a.domain, WindowType::k1));
    const auto readable =
        Good(MemoryRegion::Register(pair.a.domain, pair.a.memory, Access::kLocalRead));
    const auto readable_b =
        Good(MemoryRegion::Register(pair.b.domain, pair.b.memory, Access::kLocalRead));
    const Objects objects{pair, foreign, foreign_b, window, readable, readable_b};
    make(objects);
    const auto completion = pair.a.Wait();
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->status, status) << check << ": " << NameOf(completion->status);
    EXPECT_EQ(completion->vendor_error, static_cast<uint32_t>(check));
  }
  struct Objects {
    Pair& pair;
    const MemoryRegion& foreign;
    const MemoryRegion& foreign_b;
    const MemoryWindow& window;
    const MemoryRegion& readable;
    const MemoryRegion& readable_b;
  };
  void RefuseOwnKeys();
  void RefusePeersKeys();

  DeviceCounters device_;
  QpCounters qp_;
};

void EveryCounterTest::RefuseOwnKeys() {
  constexpr auto kStatus = CompletionStatus::kLocalProtectionError;
  const auto write = [](const Objects& o, const Sge& bytes) {
    EXPECT_TRUE(o.pair.qa.Post(Write{.data = bytes, .remote = o.pair.b.region.Remote()}));
  };
  const auto sge = [](const Objects& o, Key key) { return Sge{o.pair.a.region.start(), 8, key}; };
  Refuse(
      'a', [&](const Objects& o) { write(o, sge(o, Key{1})); }, kStatus);
  Refuse(
      'c', [&](const Objects& o) { write(o, o.foreign.Local(0, 8)); }, kStatus);
  Refuse(
      'd', [&](const Objects& o) { write(o, sge(o, StaleOf(o.pair.a.region.l_key()))); }, kStatus);
  Refuse(
      'e', [&](const Objects& o) { write(o, o.pair.a.region.Local(1 << 16, 8)); }, kStatus);
  Refuse(
      'f',
      [&](const Objects& o) {
        EXPECT_TRUE(o.pair.qa.Post(
            Read{.data = o.readable.Local(0, 8), .remote = o.pair.b.region.Remote()}));
      },
      kStatus);
  const auto bind = [](const Objects& o, Key window, const MemoryRegion& region) {
    EXPECT_TRUE(o.pair.qa.Post(Bind{.window = window,
                                    .r_key = StaleOf(window),
                                    .region = region.l_key(),
                                    .start = region.start(),
                                    .length = 8,
                                    .access = Access::kRemoteRead}));
  };
  // Binds a region instead of a window.
  Refuse(
      'b', [&](const Objects& o) { bind(o, o.pair.a.region.r_key(), o.pair.a.region); },
      CompletionStatus::kWindowBindError);
  Refuse(
      'g', [&](const Objects& o) { bind(o, o.window.first_key(), o.readable); },
      CompletionStatus::kWindowBindError);
}

void EveryCounterTest::RefusePeersKeys() {
  constexpr auto kStatus = CompletionStatus::kRemoteAccessError;
  const auto write = [](const Objects& o, const RemoteAddress& remote) {
    EXPECT_TRUE(o.pair.qa.Post(Write{.data = o.pair.a.region.Local(0, 8), .remote = remote}));
  };
  Refuse(
      'a',
      [&](const Objects& o) {
        write(o, {8, Key{1}});
      },
      kStatus);
  Refuse(
      'c', [&](const Objects& o) { write(o, o.foreign_b.Remote()); }, kStatus);
  Refuse(
      'd',
      [&](const Objects& o) {
        write(o, {8, StaleOf(o.pair.b.region.r_key())});
      },
      kStatus);
  Refuse(
      'e', [&](const Objects& o) { write(o, o.pair.b.region.Remote(1 << 16)); }, kStatus);
  Refuse(
      'f', [&](const Objects& o) { write(o, o.readable_b.Remote()); }, kStatus);
  Options windows_only = VerbsTestOptions();
  windows_only.remote_through_regions = false;
  Pair pair(*this, QpType::kRc, windows_only);
  EXPECT_EQ(pair.Do(Write{.data = pair.a.region.Local(0, 8), .remote = pair.b.region.Remote()}),
            kStatus);
}

// ---- The tables.

template <class Counters>
struct Row {
  const char* name;
  std::span<const uint64_t> (*words)(const Counters&);
  TestElsewhere elsewhere = {};  // a test that changes it
  const char* exempt = nullptr;  // the reason why no test can change it
};

// The words of a counter, or of an array of counters.
std::span<const uint64_t> Words(const uint64_t& counter) { return {&counter, 1}; }
template <size_t kCount>
std::span<const uint64_t> Words(const std::array<uint64_t, kCount>& counters) {
  return counters;
}

template <Drop kDrop>
std::span<const uint64_t> Dropped(const DeviceCounters& d) {
  return Words(d.port.dropped[static_cast<size_t>(kDrop)]);
}
template <SendDrop kDrop>
std::span<const uint64_t> SendDropped(const DeviceCounters& d) {
  return Words(d.sockets.send_dropped[static_cast<size_t>(kDrop)]);
}

constexpr char kDispatcher[] = "adapter/loop/dispatcher_test.cc";
constexpr char kCmTest[] = "verbs/connection_manager_test.cc";
constexpr char kGsiTest[] = "adapter/cm/gsi_test.cc";
constexpr char kIwarpCmTest[] = "adapter/cm/iwarp_cm_test.cc";
constexpr char kStreamKindsTest[] = "verbs/stream_kinds_test.cc";
constexpr char kBurst[] = "fabric/transmit_burst_test.cc";
constexpr char kTransmitter[] = "adapter/loop/transmitter_test.cc";
constexpr char kTakenOver[] = "adapter/control/takeover_memory_test.cc";
constexpr char kManagedPages[] = "adapter/control/managed_pages_test.cc";
constexpr char kStages[] = "ManagedPagesTest, FaultsAreCountedByStage";
constexpr char kUnderBudget[] =
    "TakeoverMemoryThreads, RegisteredMemoryIsUnderTheBudgetAndReadsBackUnchanged";

using D = DeviceCounters;
const Row<D> kDeviceRows[] = {
    {"port.packets_sent", [](const D& d) { return Words(d.port.packets_sent); }},
    {"port.bytes_sent", [](const D& d) { return Words(d.port.bytes_sent); }},
    {"port.packets_received", [](const D& d) { return Words(d.port.packets_received); }},
    {"port.bytes_received", [](const D& d) { return Words(d.port.bytes_received); }},
    {"port.loopback_packets", [](const D& d) { return Words(d.port.loopback_packets); }},
    {"port.paths_gone",
     [](const D& d) { return Words(d.port.paths_gone); },
     {kTransmitter, "TransmitterTest, APacketWithoutAPathIsLost"}},
    {"port.paths_single",
     [](const D& d) { return Words(d.port.paths_single); },
     {kTransmitter,
      "TransmitterSegmentTest, APathThatLosesSegmentsGetsSinglePacketsAndOneWarning"}},
    {"port.page_requests", [](const D& d) { return Words(d.port.page_requests); }},
    {"port.pages_refused", [](const D& d) { return Words(d.port.pages_refused); }},
    {"port.pages_invalidated",
     [](const D& d) { return Words(d.port.pages_invalidated); },
     {"adapter/control/adapter_memory_test.cc",
      "AdapterMemoryTest, TheResidencyScanInvalidatesPagesThatLeft"}},
    {"port.copies_failed",
     [](const D& d) { return Words(d.port.copies_failed); },
     {"adapter/control/adapter_memory_test.cc",
      "AdapterMemoryTest, UnmappedMemoryThatTheTablesMarkPresentIsAnErrorAndMarkedAbsent"}},
    {"port.passes", [](const D& d) { return Words(d.port.passes); }},
    {"port.dropped, kMalformed",
     &Dropped<Drop::kMalformed>,
     {kDispatcher, "DispatcherTest, RandomBytesAreMalformed"}},
    {"port.dropped, kBadIcrc",
     &Dropped<Drop::kBadIcrc>,
     {kDispatcher, "DispatcherTest, WithoutTheDestinationAddressTheIcrcDecides"}},
    {"port.dropped, kNoSuchQp",
     &Dropped<Drop::kNoSuchQp>,
     {kDispatcher, "DispatcherTest, OnlyQueuePairsOfThisProcessAreFound"}},
    {"port.dropped, kWrongPeer",
     &Dropped<Drop::kWrongPeer>,
     {kDispatcher, "DispatcherTest, AConnectedQueuePairAcceptsPacketsOfItsPeerOnly"}},
    {"port.dropped, kWrongPort",
     &Dropped<Drop::kWrongPort>,
     {kDispatcher, "DispatcherTest, AConnectedQueuePairAcceptsThePortOfItsPeersEndpointOnly"}},
    {"port.dropped, kWrongPKey",
     &Dropped<Drop::kWrongPKey>,
     {kDispatcher, "DispatcherTest, PacketsOfAnotherPartitionOrServiceAreDropped"}},
    {"port.dropped, kWrongService",
     &Dropped<Drop::kWrongService>,
     {kDispatcher, "DispatcherTest, PacketsOfAnotherPartitionOrServiceAreDropped"}},
    {"port.dropped, kNoMember",
     &Dropped<Drop::kNoMember>,
     {kDispatcher, "DispatcherTest, ADatagramToAGroupWithoutMembersIsDropped"}},
    {"port.refusals.local", [](const D& d) { return Words(d.port.refusals.local); }},
    {"port.refusals.remote", [](const D& d) { return Words(d.port.refusals.remote); }},
    {"sockets.datagrams_sent", [](const D& d) { return Words(d.sockets.datagrams_sent); }},
    {"sockets.bytes_sent", [](const D& d) { return Words(d.sockets.bytes_sent); }},
    {"sockets.messages_sent", [](const D& d) { return Words(d.sockets.messages_sent); }},
    {"sockets.send_calls", [](const D& d) { return Words(d.sockets.send_calls); }},
    {"sockets.send_blocked",
     [](const D& d) { return Words(d.sockets.send_blocked); },
     {"fabric/wire_image_test.cc", "WireImage, ABlockedFlushContinuesWhereItStopped"}},
    {"sockets.send_dropped, kTooLong",
     &SendDropped<SendDrop::kTooLong>,
     {"fabric/wire_image_test.cc", "WireImage, DatagramsAboveTheMtuAreDroppedAndCounted"}},
    {"sockets.send_dropped, kUnreachable",
     &SendDropped<SendDrop::kUnreachable>,
     {kBurst, "TransmitBurstTest, DropsDatagramsOfAnUnsupportedFamily"}},
    {"sockets.send_dropped, kForbidden",
     &SendDropped<SendDrop::kForbidden>,
     {kBurst, "TransmitBurstTest, DropsDatagramsThatTheKernelRefuses"}},
    {"sockets.send_dropped, kNoMemory",
     &SendDropped<SendDrop::kNoMemory>,
     {},
     "only if the kernel runs out of memory"},
    {"sockets.send_dropped, kSegmentationRefused",
     &SendDropped<SendDrop::kSegmentationRefused>,
     {},
     "only on a device without checksum offload"},
    {"sockets.send_dropped, kOther",
     &SendDropped<SendDrop::kOther>,
     {kBurst, "TransmitBurstTest, DropsDatagramsThatTheKernelRefuses"}},
    {"sockets.datagrams_received", [](const D& d) { return Words(d.sockets.datagrams_received); }},
    {"sockets.bytes_received", [](const D& d) { return Words(d.sockets.bytes_received); }},
    {"sockets.messages_received", [](const D& d) { return Words(d.sockets.messages_received); }},
    {"sockets.receive_calls", [](const D& d) { return Words(d.sockets.receive_calls); }},
    {"sockets.malformed",
     [](const D& d) { return Words(d.sockets.malformed); },
     {"fabric/receive_burst_test.cc",
      "ReceiveBurstTest, DatagramsThatAreTooLongAreDroppedAndCounted"}},
    {"sockets.kernel_drops",
     [](const D& d) { return Words(d.sockets.kernel_drops); },
     {"fabric/udp_fabric_test.cc", "UdpFabricTest, AFloodLosesOnlyWhatDoesNotFit"}},
    {"budget.regions_taken_over",
     [](const D& d) { return Words(d.budget.regions_taken_over); },
     {kTakenOver, kUnderBudget}},
    {"budget.bytes_taken_over",
     [](const D& d) { return Words(d.budget.bytes_taken_over); },
     {kTakenOver, kUnderBudget}},
    {"budget.regions_native",
     [](const D& d) { return Words(d.budget.regions_native); },
     {kTakenOver, "TakeoverMemoryThreads, MemoryThatCannotBeTakenOverStaysNativeWithAWarning"}},
    {"budget.resident_peak",
     [](const D& d) { return Words(d.budget.resident_peak); },
     {kTakenOver, kUnderBudget}},
    {"budget.program_faults",
     [](const D& d) { return Words(d.budget.program_faults); },
     {kTakenOver, kUnderBudget}},
    {"budget.first_stage_faults",
     [](const D& d) { return Words(d.budget.first_stage_faults); },
     {kManagedPages, kStages}},
    {"budget.second_stage_faults",
     [](const D& d) { return Words(d.budget.second_stage_faults); },
     {kManagedPages, kStages}},
    {"budget.first_stage_present",
     [](const D& d) { return Words(d.budget.first_stage_present); },
     {kManagedPages, kStages}},
    {"budget.pages_read",
     [](const D& d) { return Words(d.budget.pages_read); },
     {kTakenOver, kUnderBudget}},
    {"budget.pages_written",
     [](const D& d) { return Words(d.budget.pages_written); },
     {kTakenOver, kUnderBudget}},
    {"budget.pages_lost",
     [](const D& d) { return Words(d.budget.pages_lost); },
     {"paging/resident_set_store_test.cc", "ResidentSetStoreTest, ACorruptGranuleIsBroken"}},
    {"cm.requests_sent",
     [](const D& d) { return Words(d.cm.requests_sent); },
     {kCmTest, "ConnectionManagerTest, CountsHowConnectionsEnd"}},
    {"cm.requests_received",
     [](const D& d) { return Words(d.cm.requests_received); },
     {kCmTest, "ConnectionManagerTest, CountsHowConnectionsEnd"}},
    {"cm.established",
     [](const D& d) { return Words(d.cm.established); },
     {kCmTest, "ConnectionManagerTest, CountsHowConnectionsEnd"}},
    {"cm.rejected",
     [](const D& d) { return Words(d.cm.rejected); },
     {kCmTest, "ConnectionManagerTest, CountsHowConnectionsEnd"}},
    {"cm.rejected_by_peers",
     [](const D& d) { return Words(d.cm.rejected_by_peers); },
     {kCmTest, "ConnectionManagerTest, CountsHowConnectionsEnd"}},
    {"cm.unreachable",
     [](const D& d) { return Words(d.cm.unreachable); },
     {kGsiTest, "GsiTest, APeerThatDoesNotRespondIsUnreachable"}},
    {"cm.disconnected",
     [](const D& d) { return Words(d.cm.disconnected); },
     {kCmTest, "ConnectionManagerTest, CountsHowConnectionsEnd"}},
    {"cm.refused_no_listener",
     [](const D& d) { return Words(d.cm.refused_no_listener); },
     {kCmTest, "ConnectionManagerTest, ARequestWithoutListenerIsRejected"}},
    {"cm.refused_full",
     [](const D& d) { return Words(d.cm.refused_full); },
     {kCmTest, "ConnectionManagerTest, RequestsBeyondTheBacklogAreRefused"}},
    {"cm.refused_stale",
     [](const D& d) { return Words(d.cm.refused_stale); },
     {kGsiTest, "GsiTest, ARequestForAConnectedQueuePairIsStale"}},
    {"cm.handshake_timeouts",
     [](const D& d) { return Words(d.cm.handshake_timeouts); },
     {kIwarpCmTest, "IwarpCmTest, APeerThatSendsNothingIsEndedInTime"}},
    {"cm.accepts_postponed",
     [](const D& d) { return Words(d.cm.accepts_postponed); },
     {kIwarpCmTest, "IwarpCmPatientTest, AListenerWithoutDescriptorsPauses"}},
    {"cm.iscsi_streams",
     [](const D& d) { return Words(d.cm.iscsi_streams); },
     {kStreamKindsTest, "StreamKindsTest, OnePortServesAllThree"}},
    {"cm.plain_streams",
     [](const D& d) { return Words(d.cm.plain_streams); },
     {kStreamKindsTest, "StreamKindsTest, OnePortServesAllThree"}},
    {"cm.refused_rdma",
     [](const D& d) { return Words(d.cm.refused_rdma); },
     {kIwarpCmTest, "IwarpPlainCmTest, RdmaIsRejectedByMpa"}},
    {"cm.refused_iscsi",
     [](const D& d) { return Words(d.cm.refused_iscsi); },
     {kIwarpCmTest, "IwarpCmTest, AnIscsiLoginIsRefusedByItsResponse"}},
    {"cm.refused_plain",
     [](const D& d) { return Words(d.cm.refused_plain); },
     {kIwarpCmTest, "IwarpCmTest, GarbageIsEndedAtOnce"}},
    {"cm.retransmissions",
     [](const D& d) { return Words(d.cm.retransmissions); },
     {kGsiTest, "GsiTest, APeerThatDoesNotRespondIsUnreachable"}},
    {"cm.malformed",
     [](const D& d) { return Words(d.cm.malformed); },
     {kGsiTest, "GsiTest, MalformedMessagesAreCounted"}},
    {"cm.mads_received",
     [](const D& d) { return Words(d.cm.mads_received); },
     {kCmTest, "ConnectionManagerTest, CountsHowConnectionsEnd"}},
    {"cm.mads_forwarded",
     [](const D& d) { return Words(d.cm.mads_forwarded); },
     {kCmTest, "ConnectionManagerTest, RequestsAreForwardedBetweenProcesses"}},
    {"progress_thread_wake_ups", [](const D& d) { return Words(d.progress_thread_wake_ups); }},
    {"events_lost", [](const D& d) { return Words(d.events_lost); }},
};

using Q = QpCounters;
const Row<Q> kQpRows[] = {
    {"packets_sent", [](const Q& q) { return Words(q.packets_sent); }},
    {"bytes_sent", [](const Q& q) { return Words(q.bytes_sent); }},
    {"packets_received", [](const Q& q) { return Words(q.packets_received); }},
    {"bytes_received", [](const Q& q) { return Words(q.bytes_received); }},
    {"page_requests", [](const Q& q) { return Words(q.page_requests); }},
    {"timeouts", [](const Q& q) { return Words(q.timeouts); }},
    {"sequence_naks",
     [](const Q& q) { return Words(q.sequence_naks); },
     {"transport/rc/requester_test.cc",
      "RequesterTest, ASequenceErrorRetransmitsFromTheMissingPacket"}},
    {"rnr_naks", [](const Q& q) { return Words(q.rnr_naks); }},
    {"lost_responses",
     [](const Q& q) { return Words(q.lost_responses); },
     {"transport/rc/requester_test.cc",
      "RequesterTest, AnAcknowledgementAfterAReadImpliesThatItsResponseIsLost"}},
    {"page_waits", [](const Q& q) { return Words(q.page_waits); }},
    {"dropped_out_of_sequence",
     [](const Q& q) { return Words(q.dropped_out_of_sequence); },
     {"transport/uc/uc_qp_test.cc", "UcQpTest, AGapDropsTheMessageAndNotTheNext"}},
    {"dropped_no_receive", [](const Q& q) { return Words(q.dropped_no_receive); }},
    {"dropped_pages_absent",
     [](const Q& q) { return Words(q.dropped_pages_absent); },
     {"transport/ud/ud_qp_test.cc", "UdQpTest, HeldDatagramsAreBounded"}},
    {"dropped_refused", [](const Q& q) { return Words(q.dropped_refused); }},
};

template <class Counters, size_t kCount>
void ExpectRowsAndMoves(const Row<Counters> (&rows)[kCount], const Counters& moved) {
  std::set<const uint64_t*> words;
  for (const Row<Counters>& row : rows) {
    for (const uint64_t& word : row.words(moved)) {
      EXPECT_TRUE(words.insert(&word).second) << row.name << " has two rows";
      if (row.elsewhere.file == nullptr && row.exempt == nullptr) {
        EXPECT_GT(word, 0U) << row.name << " [" << &word - row.words(moved).data() << "]";
      }
    }
    if (row.elsewhere.file != nullptr) {
      EXPECT_TRUE(Exists(row.elsewhere)) << row.name << ": " << row.elsewhere.name;
    }
  }
  EXPECT_EQ(words.size(), sizeof(Counters) / sizeof(uint64_t)) << "a new counter needs a row above";
}

TEST_F(EveryCounterTest, EveryCounterCanChange) {
  Exchange();
  ExchangeWithinTheProcess();
  WriteToUnmappedMemory();
  LoseAPeer();
  LoseEvents();
  DropUnreliably();
  RefuseOwnKeys();
  RefusePeersKeys();
  ExpectRowsAndMoves(kDeviceRows, device_);
  ExpectRowsAndMoves(kQpRows, qp_);
}

}  // namespace
}  // namespace verbena
