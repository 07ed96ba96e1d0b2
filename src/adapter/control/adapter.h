#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "adapter/cm/gsi.h"
#include "adapter/control/guest_control.h"
#include "adapter/error.h"
#include "adapter/objects/completion_channel.h"
#include "adapter/objects/event_queue.h"
#include "adapter/objects/path_table.h"
#include "adapter/objects/queue_pair.h"
#include "adapter/objects/srq.h"
#include "adapter/objects/xrc_domain.h"
#include "adapter/options.h"
#include "base/result.h"
#include "fabric/counters.h"
#include "fabric/endpoint_ports.h"
#include "fabric/interfaces.h"
#include "memory/protection/regions.h"
#include "memory/protection/windows.h"
#include "odp/managed_pages.h"
#include "odp/pager.h"
#include "queue/completion_queue.h"
#include "queue/work_request.h"
#include "transport/common/qp_attributes.h"
#include "transport/common/tag_operation.h"
#include "verbena/advice.h"
#include "verbena/counters.h"
#include "verbena/memory_events.h"
#include "verbena/post_error.h"

namespace verbena::adapter {

// A modification of a queue pair: the values, the mask of those that count, and the path if the
// mask has kPath.
struct QpChange {
  transport::QpSettings attributes = {};
  transport::AttributeMask mask = {};
  AddressVector path = {};
};

// The present attributes of a queue pair.
struct QpStatus {
  QpState state = QpState::kReset;
  bool is_draining = false;
  transport::QpSettings attributes = {};
  std::optional<AddressVector> path = {};
  QpCounters counters = {};
};

struct AdapterReport {
  PortCounters port = {};
  BudgetCounters budget = {};
  CmUseCounters cm = {};
  fabric::TransmitCounters sent = {};
  fabric::ReceiveCounters received = {};
  uint64_t progress_thread_wake_ups = 0;
  uint64_t events_lost = 0;
};

// A channel adapter in this process: all layers below, behind the calls that the verbs layer passes
// on. Objects are named by pointer, or by key or number where the verbs do. The adapter owns what a
// pointer refers to; it must not be used after its destruction.
//
// Control calls change objects and may wait for the engine. Calls of the data path never wait. A
// call that fails returns an error with a text, or a code on the data path, and changes nothing.
//
// After a fork the child's copy is unusable: each call fails with kForked, and its destruction does
// not touch the parent's objects.
//
// Thread rule: any thread, at any time; but no thread may use an object while another destroys it.
class Adapter {
 public:
  [[nodiscard]] static ErrorOr<std::unique_ptr<Adapter>> Open(const AdapterOptions& wanted = {});
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;
  // Ends everything, in any state, and leaves nothing behind. Peers notice it when their retries
  // fail.
  ~Adapter();

  // --- Queries. ---

  [[nodiscard]] const AdapterOptions& options() const;
  // The first endpoint of this process, and its UDP port; there may be more.
  [[nodiscard]] fabric::EndpointId endpoint() const;
  [[nodiscard]] uint16_t port() const;
  // Whether this process is a child of the one that opened it.
  [[nodiscard]] bool is_forked() const;
  // 0 in such a child; for checks that cost one load.
  [[nodiscard]] const volatile unsigned* fork_mark() const;
  // The GIDs, in the order of their indices.
  [[nodiscard]] static ErrorOr<std::vector<fabric::LocalAddress>> LocalAddresses();
  // The largest MTU for a connection on this path, as far as the system knows it.
  [[nodiscard]] static ErrorOr<PathMtu> LargestMtu(const AddressVector& vector);
  // What the user should know about this machine, one line each. Each is returned once.
  [[nodiscard]] std::vector<std::string> TakeWarnings();
  // See verbena::Context.
  void Flush();
  // nullptr unless AdapterOptions::page_events is set and the system allows it.
  [[nodiscard]] MemoryEvents* memory_events();
  [[nodiscard]] ErrorOr<AdapterReport> Query();

  // --- Protection domains and memory. ---

  [[nodiscard]] ErrorOr<memory::PdId> AllocatePd();
  [[nodiscard]] ErrorOr<void> DeallocatePd(memory::PdId pd);

  // Takes microseconds at any size: no page is touched. With a memory budget, takes as long as
  // moving the memory under the budget. REFUSES linear memory that is not mapped for these rights
  // (EFAULT), unless it is registered on demand.
  [[nodiscard]] ErrorOr<memory::RegionKeys> RegisterRegion(const memory::RegionSpec& spec,
                                                           const memory::Backing& backing,
                                                           const QuiesceTerms& terms = {});
  // Of a region that is quiesced or out, this and the next end that first.
  [[nodiscard]] ErrorOr<memory::RegionKeys> ReregisterRegion(
      Key key, const memory::RegionSpec& spec, const std::optional<memory::Backing>& backing);
  [[nodiscard]] ErrorOr<void> DeregisterRegion(Key key);
  // Pages in parts of a region before they are needed; with `wait`, they are present when this
  // returns. REFUSES ranges outside the region, and to write where the region does not allow it.
  [[nodiscard]] ErrorOr<void> Advise(Key key, std::span<const Range> ranges, Advice advice,
                                     bool wait);
  // Memory that may be larger than its budget. Regions are registered on it as on any other memory.
  // REFUSES to be destroyed while there are some.
  [[nodiscard]] ErrorOr<odp::ManagedArena*> MakeArena(const managed::ArenaOptions& options);
  [[nodiscard]] ErrorOr<void> Destroy(odp::ManagedArena* arena);
  // What the program gives it. In a guest that is a limit: it may have less.
  [[nodiscard]] ErrorOr<void> SetBudget(odp::ManagedArena* arena, uint64_t bytes);
  // For the host's agent in this process; nullptr after a fork.
  [[nodiscard]] GuestControl* guest_control();

  // For registration by work request.
  [[nodiscard]] ErrorOr<memory::RegionKeys> ReserveRegion(memory::PdId pd, uint64_t pages_max,
                                                          PageShift page_shift);
  [[nodiscard]] ErrorOr<Key> AllocateWindow(memory::PdId pd, WindowType type);
  [[nodiscard]] ErrorOr<void> DeallocateWindow(Key window);

  // --- Completion. ---

  [[nodiscard]] ErrorOr<CompletionChannel*> CreateChannel();
  [[nodiscard]] ErrorOr<void> Destroy(CompletionChannel* channel);
  [[nodiscard]] ErrorOr<Cq*> CreateCq(size_t capacity, CompletionChannel* channel,
                                      EventQueue* events = nullptr);
  [[nodiscard]] ErrorOr<void> Destroy(Cq* cq);
  [[nodiscard]] ErrorOr<void> Resize(Cq& cq, size_t capacity);
  [[nodiscard]] ErrorOr<void> SetModeration(Cq& cq, uint32_t count, Duration period);

  // --- Shared receive queues. ---

  [[nodiscard]] ErrorOr<Srq*> CreateSrq(memory::PdId pd, uint32_t capacity, uint32_t sges,
                                        EventQueue* events = nullptr);
  // For extended connections: senders name it by its number. The asynchronous events of this one
  // and of the next go to the queue of the completion queue.
  [[nodiscard]] ErrorOr<Srq*> CreateXrcSrq(memory::PdId pd, XrcDomain& domain, Cq& cq,
                                           uint32_t capacity, uint32_t sges);
  // With tag matching. All receives of its queue pairs complete in `cq`.
  [[nodiscard]] ErrorOr<Srq*> CreateTagSrq(memory::PdId pd, Cq& cq, uint32_t capacity,
                                           uint32_t sges, uint32_t tags_max);
  // May wait for the engine, which owns the list. Returns the handle of a receive that was added.
  [[nodiscard]] ErrorOr<TagHandle> ChangeTags(Srq& srq, const TagOperation& operation);
  [[nodiscard]] ErrorOr<void> Destroy(Srq* srq);
  [[nodiscard]] ErrorOr<void> Resize(Srq& srq, uint32_t capacity);
  [[nodiscard]] ErrorOr<void> SetLimit(Srq& srq, uint32_t limit);

  [[nodiscard]] ErrorOr<XrcDomain*> OpenXrcDomain();
  [[nodiscard]] ErrorOr<void> Destroy(XrcDomain* domain);

  // --- Queue pairs. ---

  [[nodiscard]] ErrorOr<QueuePair*> CreateQp(const QpInit& wanted);
  [[nodiscard]] ErrorOr<void> Destroy(QueuePair* qp);
  [[nodiscard]] ErrorOr<void> Modify(QueuePair& qp, const QpChange& change);
  [[nodiscard]] ErrorOr<QpStatus> Query(QueuePair& qp);

  // `port_mtu`: limits the length of datagrams, even if the path allows more.
  [[nodiscard]] ErrorOr<AddressHandleId> CreateAddressHandle(memory::PdId pd,
                                                             const AddressVector& wanted,
                                                             PathMtu port_mtu = PathMtu::k4096);
  [[nodiscard]] ErrorOr<void> DestroyAddressHandle(AddressHandleId handle);

  [[nodiscard]] ErrorOr<void> AttachMulticast(QueuePair& qp, const IpAddress& gid);
  [[nodiscard]] ErrorOr<void> DetachMulticast(QueuePair& qp, const IpAddress& gid);

  // --- The data path. ---

  [[nodiscard]] PostResult PostSend(QueuePair& qp, const queue::SendWorkRequest& request);
  [[nodiscard]] PostResult PostReceive(QueuePair& qp, const queue::ReceiveWorkRequest& request);
  [[nodiscard]] PostResult PostReceive(Srq& srq, const queue::ReceiveWorkRequest& request);
  // After a chain was posted to qp.send_queue() or qp.receive_queue() directly.
  void Kick(QueuePair& qp);

  // Moves the oldest completions to `out` and returns their number. Makes progress if there are
  // none.
  [[nodiscard]] Result<size_t, queue::CqError> Poll(Cq& cq, std::span<Completion> out);
  // Makes progress only, for callers that read completions in place.
  void Progress(Cq& cq);
  // Requests an event on its channel at the next completion of this kind.
  void RequestNotify(Cq& cq, queue::CompletionQueue::Wanted wanted);

  // Takes the next event of a channel; see EventWait.
  [[nodiscard]] Cq* Wait(CompletionChannel& channel);

  // --- The connection manager: see verbena::CmId. ---

  // `queue` outlives it.
  [[nodiscard]] ErrorOr<CmEnd*> CreateCmEnd(CmEventQueue& queue, PortSpace space, void* user);
  [[nodiscard]] ErrorOr<CmEnd*> TakeCmRequest(const CmEvent& event, CmEventQueue& queue,
                                              void* user);
  [[nodiscard]] ErrorOr<void> Destroy(CmEnd* end);
  [[nodiscard]] ErrorOr<void> Bind(CmEnd& end, const CmAddress& address, bool reuse_address,
                                   bool own_family_only);
  [[nodiscard]] ErrorOr<void> Listen(CmEnd& end, uint32_t backlog,
                                     const StreamsServed& serves = {});
  [[nodiscard]] ErrorOr<void> Connect(CmEnd& end, const IpAddress& from, const CmAddress& to,
                                      const ConnectionParameters& parameters);
  [[nodiscard]] ErrorOr<void> Accept(CmEnd& end, const ConnectionParameters& parameters);
  [[nodiscard]] ErrorOr<void> Reject(CmEnd& end, const CmPrivateData& data, uint16_t reason);
  [[nodiscard]] ErrorOr<void> Establish(CmEnd& end);
  [[nodiscard]] ErrorOr<void> NotifyEstablished(CmEnd& end);
  [[nodiscard]] ErrorOr<void> Disconnect(CmEnd& end, const CmPrivateData& data);
  [[nodiscard]] ErrorOr<void> Migrate(CmEnd& end, CmEventQueue& queue);
  [[nodiscard]] ErrorOr<CmAddress> LocalAddressOf(const CmEnd& end);
  // The address of this machine that packets to there leave from.
  [[nodiscard]] static ErrorOr<IpAddress> SourceFor(const CmAddress& destination);
  // Takes the next event; see EventWait.
  [[nodiscard]] std::optional<CmEvent> Wait(CmEventQueue& queue);

  // --- Asynchronous events. ---

  // For the events of the objects that name it, and of the port. REFUSES to be destroyed while
  // there are such objects.
  [[nodiscard]] ErrorOr<EventQueue*> CreateEventQueue();
  [[nodiscard]] ErrorOr<void> Destroy(EventQueue* events);

 private:
  struct Impl;

  void Found();
  template <class Call>
  auto CallCm(Call call) -> decltype(call(std::declval<Gsi&>(), Time()));
  [[nodiscard]] bool is_iwarp() const;
  void Idle(const Cq& cq, Time now);

  explicit Adapter(std::unique_ptr<Impl> parts);

  // The budget has 256 pages: 16 for each of 16 regions.
  [[nodiscard]] std::optional<Error> Dead() const;
  [[nodiscard]] ErrorOr<void> CheckSpec(const QpInit& spec) const;
  // Bytes that are pinned for a region.
  struct PinnedRange {
    uint64_t address = 0;
    uint64_t length = 0;
  };
  // Pins the bytes and returns them; nullopt without the option, or if there is nothing to pin.
  [[nodiscard]] ErrorOr<std::optional<PinnedRange>> Pin(const memory::RegionSpec& spec,
                                                        const memory::Backing* backing);
  void Unpin(const std::optional<PinnedRange>& range);
  // EFAULT unless the program has mapped the bytes for these rights. Without `backing`, checks the
  // present bytes of the region `changed`.
  [[nodiscard]] ErrorOr<void> CheckMappings(const memory::RegionSpec& spec,
                                            const memory::Backing* backing, Key changed);
  [[nodiscard]] std::optional<uint64_t> UnmanagedAddress(const memory::LinearBacking& linear,
                                                         uint64_t length);
  [[nodiscard]] std::optional<uint64_t> AddressToWiden(Key key, bool for_write);
  ErrorOr<void> End(Key region);
  void FinishPin(const std::optional<PinnedRange>& range, const ErrorOr<memory::RegionKeys>& made);
  [[nodiscard]] bool HasNoPages(Key key);
  [[nodiscard]] ErrorOr<void> CheckAdvice(Key key, const Range& range, memory::AccessKind access);
  [[nodiscard]] bool IsManaged(const odp::PageJob& job);
  [[nodiscard]] bool IsManaged(uint64_t address);
  [[nodiscard]] std::optional<odp::PageJob> AbsentPages(Key key, uint64_t offset, uint64_t length,
                                                        memory::AccessKind access);
  [[nodiscard]] ErrorOr<void> CheckSrqSize(uint32_t capacity, uint32_t sges) const;
  [[nodiscard]] ErrorOr<Srq*> AddSrq(memory::PdId pd, uint32_t capacity, uint32_t sges,
                                     EventQueue* events, const XrcMembership& xrc = {},
                                     const TagMatching& matching = {});

  std::unique_ptr<Impl> impl_;
};

}  // namespace verbena::adapter
