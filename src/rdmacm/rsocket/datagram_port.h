#pragma once

#include <rdma/rdma_cma.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rdmacm/rsocket/cm_event_channel.h"
#include "rdmacm/rsocket/errno.h"
#include "rdmacm/rsocket/limits.h"
#include "rdmacm/rsocket/notified_cq.h"
#include "rdmacm/rsocket/registered_memory.h"
#include "rdmacm/rsocket/socket_name.h"
#include "rdmacm/rsocket/work_id.h"

namespace verbena::rsockets {

struct DestroyAh {
  void operator()(ibv_ah* ah) const { ibv_destroy_ah(ah); }
};
using OwnedAh = std::unique_ptr<ibv_ah, DestroyAh>;

// The queue pair with which a datagram socket sends from one local address: UD, with buffers in
// slots of kDatagramSlot bytes. The owner's lock guards it.
class DatagramPort {
 public:
  struct Sizes {
    uint16_t send_slots = 64;
    uint16_t receive_slots = 64;
    uint16_t inline_max = kInlineDefault;
  };
  // A received datagram, valid until its slot is posted again.
  struct Arrival {
    uint32_t slot = 0;
    std::span<const std::byte> bytes;  // without GRH
  };

  // REQUIRES: the channel outlives it.
  [[nodiscard]] static ErrnoOr<std::unique_ptr<DatagramPort>> Make(const CmEventChannel& channel,
                                                                   const SocketName& local,
                                                                   const Sizes& sizes);
  DatagramPort(const DatagramPort&) = delete;
  DatagramPort& operator=(const DatagramPort&) = delete;
  ~DatagramPort();

  // The address, with the port of the UDP socket, which rdma_cm does not know.
  [[nodiscard]] const SocketName& local() const { return local_; }
  [[nodiscard]] uint32_t qpn() const { return id_->qp->qp_num; }
  [[nodiscard]] NotifiedCq& cq() const { return *cq_; }
  // The maximum length of a message, including its header.
  [[nodiscard]] std::size_t message_max() const { return message_max_; }

  // An address handle for a path that rdma_cm has resolved.
  [[nodiscard]] ErrnoOr<OwnedAh> MakeAh(const ibv_sa_path_rec& path) const;

  [[nodiscard]] bool can_send() const { return !free_sends_.empty(); }
  [[nodiscard]] bool idle() const { return free_sends_.size() == sizes_.send_slots; }
  // The buffer for the next message. REQUIRES: can_send().
  [[nodiscard]] std::span<std::byte> next_message() const;
  // Sends the first `length` bytes of next_message().
  [[nodiscard]] ErrnoOr<void> Send(std::size_t length, ibv_ah* ah, uint32_t qpn);

  // Handles a completion: a slot becomes free, or a datagram has arrived.
  [[nodiscard]] std::optional<Arrival> OnCompletion(const ibv_wc& completion);
  [[nodiscard]] ErrnoOr<void> PostReceive(uint32_t slot);

 private:
  DatagramPort(OwnedCmId id, const SocketName& local, const Sizes& sizes);
  [[nodiscard]] ErrnoOr<void> MakeQp();
  [[nodiscard]] ErrnoOr<void> MakeMemory();
  [[nodiscard]] ErrnoOr<uint8_t> GidIndex(const ibv_gid& gid) const;

  const OwnedCmId id_;
  const SocketName local_;
  Sizes sizes_;
  ibv_port_attr port_{};
  std::size_t message_max_ = 0;
  std::unique_ptr<NotifiedCq> cq_;
  RegisteredMemory send_memory_;
  RegisteredMemory receive_memory_;
  std::vector<uint32_t> free_sends_;
};

}  // namespace verbena::rsockets
