#pragma once

#include <rdma/rdma_cma.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "rdmacm/rsocket/errno.h"
#include "rdmacm/rsocket/limits.h"
#include "rdmacm/rsocket/notified_cq.h"
#include "rdmacm/rsocket/registered_memory.h"
#include "rdmacm/rsocket/wire.h"
#include "rdmacm/rsocket/work_id.h"

namespace verbena::rsockets {

// Sizes that programs set with rsetsockopt before a connection is made; an accepted connection has
// those of its listener. A value type.
struct StreamSizes {
  uint32_t send_buffer = kSendBufferDefault;
  uint32_t receive_buffer = kReceiveBufferDefault;
  uint16_t send_queue = kQueueDefault;
  uint16_t receive_queue = kQueueDefault;
  uint16_t inline_max = kInlineDefault;
  uint16_t iomap_size = 0;
};

// The verbs objects of one connection: an RC queue pair on the id, its completion queue, and three
// pieces of registered memory. It posts work requests, and knows only the formats of the protocol.
// The owner's lock guards it.
class StreamEndpoint {
 public:
  // One RDMA write.
  struct Write {
    std::span<ibv_sge> from = {};
    bool is_inline = false;
    uint64_t remote_address = 0;
    uint32_t rkey = 0;
    std::optional<Message> message = {};  // sent with it
    WorkId id{};
  };

  // With sizes within the limits of the device. Posts all receives. REQUIRES: the id has a device,
  // and outlives the endpoint.
  [[nodiscard]] static ErrnoOr<std::unique_ptr<StreamEndpoint>> Make(rdma_cm_id* id,
                                                                     const StreamSizes& wanted);
  StreamEndpoint(const StreamEndpoint&) = delete;
  StreamEndpoint& operator=(const StreamEndpoint&) = delete;
  ~StreamEndpoint();

  [[nodiscard]] const StreamSizes& sizes() const { return sizes_; }
  // The device has no immediate data (iWARP): a message is a SEND after the write.
  [[nodiscard]] bool sends_messages() const { return sends_messages_; }
  [[nodiscard]] NotifiedCq& cq() const { return *cq_; }
  [[nodiscard]] ibv_pd* pd() const { return id_->pd; }
  [[nodiscard]] const RegisteredMemory& send_memory() const { return send_memory_; }
  [[nodiscard]] const RegisteredMemory& receive_memory() const { return receive_memory_; }
  [[nodiscard]] const RegisteredMemory& target_memory() const { return target_memory_; }
  // A buffer for an entry that is too long for inline data: slot `n` of kControlSlots.
  [[nodiscard]] std::span<std::byte> control_buffer(unsigned n) const;

  // Posts receives again that have completed.
  [[nodiscard]] ErrnoOr<void> PostReceives(std::span<const uint32_t> slots);
  // Posts a message without data. Its work id is that of a control message.
  [[nodiscard]] ErrnoOr<void> PostMessage(Message message);
  [[nodiscard]] ErrnoOr<void> PostWrite(const Write& write);

  // The message of a completed receive.
  [[nodiscard]] Message MessageOf(const ibv_wc& completion) const;
  // The entry of the target list that the peer has written since the last call; nullopt if there is
  // none. Clears the entry.
  [[nodiscard]] std::optional<RemoteBuffer> TakeTarget(unsigned entry) const;
  // Entry `n` of the iomap list, which the peer writes. REQUIRES: n < sizes().iomap_size.
  [[nodiscard]] IomapEntry iomap_entry(unsigned n) const;

 private:
  StreamEndpoint(rdma_cm_id* id, const StreamSizes& sizes, bool sends_messages)
      : id_(id), sizes_(sizes), sends_messages_(sends_messages) {}

  [[nodiscard]] ErrnoOr<void> MakeQp();
  [[nodiscard]] ErrnoOr<void> MakeMemory();
  [[nodiscard]] ErrnoOr<void> PostAllReceives();
  [[nodiscard]] ErrnoOr<void> PostSend(ibv_send_wr& wr) const;
  // One per credit, and some for control messages.
  [[nodiscard]] uint32_t receive_count() const { return sizes_.receive_queue + kControlSlots; }

  rdma_cm_id* const id_;
  StreamSizes sizes_;
  const bool sends_messages_;
  std::unique_ptr<NotifiedCq> cq_;
  RegisteredMemory send_memory_;     // the send buffer, then the control buffers
  RegisteredMemory receive_memory_;  // the receive buffer, then a word for each receive
  RegisteredMemory target_memory_;   // the target list, then the iomap list
};

}  // namespace verbena::rsockets
