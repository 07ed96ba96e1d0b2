#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "adapter/cm/cm_end.h"
#include "adapter/cm/early_requests.h"
#include "adapter/cm/port_registry.h"
#include "adapter/port_map.h"
#include "base/error.h"
#include "base/time.h"
#include "transport/cm/cm_manager.h"
#include "verbena/cm_event.h"
#include "verbena/counters.h"

namespace verbena::adapter {

struct GsiOptions {
  PortMap ports = {};
  // The number by which peers know this process; see transport::CmPeer.
  QpNumber number = wire::kGeneralServicesQp;
  uint64_t seed = 0;
};

// The general services interface of a process (IBA 3.9): receives the management datagrams to QP 1
// of its endpoints, and contains the connection manager with the ids of the program. Requests for
// ports of other processes on this machine are forwarded to them.
//
// Without an id or a datagram, a process has neither a manager nor a port space.
//
// Owned by the engine; under its lock. After a call or an input, the datagrams to be sent are in
// datagrams(), and events are in the queues of the ids.
class Gsi {
 public:
  explicit Gsi(const GsiOptions& options) : options_(options) {}
  Gsi(const Gsi&) = delete;
  Gsi& operator=(const Gsi&) = delete;
  ~Gsi();

  // --- Inputs. ---

  // A MAD to QP 1 of an address of this machine, from the network or from the process that has the
  // RoCEv2 port.
  void OnMad(std::span<const std::byte, wire::kMadSize> mad, const transport::CmPeer& from,
             Time now);
  // Reads the MADs that other processes have forwarded.
  void OnMailbox(Time now);
  void OnTime(Time now);
  [[nodiscard]] Time next_time() const;

  // Whether datagrams of this queue pair have this UDP source port.
  [[nodiscard]] bool IsSentFrom(QpNumber qp, uint16_t port) const {
    const uint16_t own = options_.ports.SourcePortOf(qp);
    return own == 0 || own == port;
  }

  // --- Outputs. ---

  [[nodiscard]] std::vector<transport::CmDatagram>& datagrams() { return outbox_.datagrams; }
  [[nodiscard]] bool has_datagrams() const { return !outbox_.datagrams.empty(); }
  // Readable while there is something for OnMailbox; -1 before the first id.
  [[nodiscard]] int mailbox_fd() const { return ports_ == nullptr ? -1 : ports_->fd(); }
  // There is a listener, so requests of peers must arrive.
  [[nodiscard]] bool has_listeners() const { return !listeners_.empty(); }
  [[nodiscard]] QpNumber number() const { return options_.number; }
  [[nodiscard]] CmUseCounters counters() const;

  // --- Calls of the program; see verbena::CmId. ---

  [[nodiscard]] ErrorOr<CmEnd*> Create(CmEventQueue& queue, PortSpace space, void* user);
  [[nodiscard]] ErrorOr<CmEnd*> Take(const CmEvent& event, CmEventQueue& queue, void* user);
  void Destroy(CmEnd& end, Time now);

  [[nodiscard]] ErrorOr<void> Bind(CmEnd& end, const CmAddress& address, bool reuse_address,
                                   bool own_family_only);
  [[nodiscard]] ErrorOr<void> Listen(CmEnd& end, uint32_t backlog, Time now);
  [[nodiscard]] ErrorOr<void> Connect(CmEnd& end, const IpAddress& from, const CmAddress& to,
                                      const ConnectionParameters& parameters, Time now);
  [[nodiscard]] ErrorOr<void> Accept(CmEnd& end, const ConnectionParameters& parameters, Time now);
  [[nodiscard]] ErrorOr<void> Reject(CmEnd& end, const CmPrivateData& data, uint16_t reason,
                                     Time now);
  [[nodiscard]] ErrorOr<void> Establish(CmEnd& end, Time now);
  [[nodiscard]] ErrorOr<void> NotifyEstablished(CmEnd& end, Time now);
  [[nodiscard]] ErrorOr<void> Disconnect(CmEnd& end, const CmPrivateData& data, Time now);
  void Migrate(CmEnd& end, CmEventQueue& queue);

  [[nodiscard]] bool IsConsistent() const;

 private:
  // A request that the program has not taken yet.
  struct Untaken {
    CmEnd* listener = nullptr;
    std::optional<CmEvent> held = {};  // the event that ended it meanwhile
  };
  // A request for which an MRA is due, unless the consumer responds first.
  struct SlowAnswer {
    Time at;
    wire::CommId connection;
  };

  [[nodiscard]] ErrorOr<void> Start();
  [[nodiscard]] transport::CmStep StepAt(Time now) { return {now, outbox_}; }
  void Take(std::span<const std::byte, wire::kMadSize> mad, const transport::CmPeer& from,
            bool is_forwarded, Time now);
  // False if no process has the service that the request is for.
  [[nodiscard]] bool Offer(const EarlyRequests::Request& request, Time now);
  void OfferAgain(Time now);
  // False if no process has its port.
  [[nodiscard]] bool ForwardToOwner(const EarlyRequests::Request& request, Time now);
  void RetryForwards(Time now);
  void ToManager(std::span<const std::byte, wire::kMadSize> mad, const transport::CmPeer& from,
                 Time now);
  void DrainEvents(Time now);
  void Raise(const transport::CmRaisedEvent& raised, Time now);
  void RaiseRequest(const transport::CmRaisedEvent& raised, Time now);
  void Refuse(const transport::CmRaisedEvent& raised, Time now);
  void Count(const CmEvent& event);
  void AnnounceSlowAnswers(Time now);
  [[nodiscard]] CmEnd* FindEnd(const transport::CmRaisedEvent& raised) const;
  [[nodiscard]] static CmRequestId RequestIdOf(const transport::CmRaisedEvent& raised);
  void RejectUntaken(const CmEnd& listener, Time now);
  [[nodiscard]] ErrorOr<void> Ask(CmEnd& end, const transport::CmPeer& peer,
                                  const wire::IpCmService& service,
                                  const wire::IpCmHeader& addresses,
                                  const ConnectionParameters& parameters, Time now);

  const GsiOptions options_;
  std::unique_ptr<PortRegistry> ports_;            // nullptr until Start
  std::unique_ptr<transport::CmManager> manager_;  // nullptr until Start
  transport::CmOutbox outbox_;
  CmUseCounters counters_;

  // Every end is in ends_, and in one of the other maps, by its kind.
  std::unordered_map<const CmEnd*, std::unique_ptr<CmEnd>> ends_;
  std::unordered_map<wire::CommId, CmEnd*> connections_;
  std::unordered_map<wire::SidrRequestId, CmEnd*> exchanges_;
  std::map<transport::CmListenAddress, CmEnd*> listeners_;
  std::unordered_map<CmRequestId, Untaken> untaken_;
  std::deque<SlowAnswer> slow_answers_;  // by time
  // Requests for a process whose mailbox was full, and when to retry.
  std::deque<ForwardedMad> pending_forwards_;
  Time retry_forwards_at_ = Time::Never();
  EarlyRequests early_;
};

}  // namespace verbena::adapter
