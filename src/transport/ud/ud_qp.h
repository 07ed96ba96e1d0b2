#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "queue/completion_queue.h"
#include "queue/work_queue.h"
#include "transport/common/address_handles.h"
#include "transport/common/held_packets.h"
#include "transport/common/outbox.h"
#include "transport/common/packet_origin.h"
#include "transport/common/placement.h"
#include "transport/common/qp_state.h"
#include "transport/common/receive_slot.h"
#include "transport/common/receive_source.h"
#include "transport/common/step.h"
#include "transport/common/unreliable_sends.h"
#include "wire/roce/packet.h"

namespace verbena::transport {

struct UdConfig {
  QpNumber local_qp = {};
  wire::PKey p_key = wire::kDefaultPKey;
  QKey q_key = {};
  uint32_t path_mtu = 1024;                 // of the port
  memory::Accessor who = {};                // protection domain and QP, for the tables
  const AddressHandles* handles = nullptr;  // outlives the queue pair
  RegistrationMode registration = RegistrationMode::kDisabled;
};

// A queue pair of the unreliable datagram service: each message is one packet, to and from any
// queue pair that has the Q_Key. A datagram that cannot be received now is dropped and counted; one
// that waits for pages is held, as far as there is room.
//
// Run must be called after every burst of inputs. Owned by the adapter; used by one thread at a
// time.
class UdQp {
 public:
  UdQp(const UdConfig& config, queue::SendQueue& send_queue, ReceiveSource receives,
       queue::CompletionQueue& send_cq, queue::CompletionQueue& receive_cq);

  QpState state() const { return sends_.state(); }

  // Sets attributes that became known after construction, or changed. Takes effect at once.
  void Configure(const UdConfig& config);

  // INIT -> RTR, RTR -> RTS.
  void BecomeReadyToReceive() { sends_.BecomeReadyToReceive(); }
  void BecomeReadyToSend(Psn first) { sends_.BecomeReadyToSend(first); }
  // RTS -> SQD: no new element is started, and those that were started are finished. Then an event
  // is raised, if `notify`.
  bool is_draining() const { return sends_.is_draining(); }
  void Drain(bool notify = true) { sends_.Drain(notify); }
  // SQD -> RTS; SQE -> RTS: the program has seen the error, and posts again.
  void ResumeSends() { sends_.Resume(); }
  // Any -> ERR. Elements that are posted, now or later, are flushed by the next Run.
  void BecomeFailed() { sends_.Fail(); }

  // A packet has arrived for this queue pair, or for a multicast group of which it is a member.
  void OnPacket(const wire::Packet& packet, const PacketOrigin& origin, Step& step);
  void OnPagesReady(FaultTicket ticket, bool available, Step& step);
  // A packet of the last Run was not sent; see UnreliableSender. It is sent later.
  void TakeBack(const OutPacket& packet, bool is_loss) { sends_.TakeBack(packet, is_loss); }
  void OnTime(Step& step) { sends_.OnTime(step); }
  Time next_time() const { return sends_.next_time(); }

  // Sends as much as the state and the room in the outbox allow. True if it must be called again
  // after the outbox is drained.
  bool Run(Step& step);

  // Datagrams dropped since the start.
  struct Counters {
    uint64_t bad_q_key = 0;
    uint64_t bad_length = 0;
    uint64_t no_receive = 0;
    uint64_t too_long = 0;      // for the receive request
    uint64_t pages_absent = 0;  // and too many datagrams wait
  };
  const Counters& counters() const { return counters_; }
  bool IsConsistent() const;

 private:
  bool Accepts(const wire::Packet& packet);
  bool Serve(const wire::Packet& packet, const PacketOrigin& origin, Step& step);
  Placement Place(const wire::Packet& packet, const PacketOrigin& origin, Step& step);
  bool WaitForPages(const memory::Fault& fault, Step& step);
  void Hold(const wire::Packet& packet, const PacketOrigin& origin);
  bool ServeHeld(Step& step);
  void Forget();
  void FailReceive(CompletionStatus status, Step& step, VendorError vendor_error = 0);

  UdConfig config_;
  UnreliableSends sends_;
  ReceiveSlot receive_;
  HeldPackets held_;                      // in the order of arrival; they are served before others
  std::optional<FaultTicket> page_wait_;  // for the receive buffer of the first held datagram
  uint8_t losses_ = 0;                    // pages that the first held datagram has lost
  uint64_t tickets_ = 0;
  Counters counters_;
};

}  // namespace verbena::transport
