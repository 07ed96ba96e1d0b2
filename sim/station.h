#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
#include "queue/completion_queue.h"
#include "queue/work_queue.h"
#include "sim/endnode.h"
#include "sim/oracle/completions.h"
#include "sim/oracle/messages.h"
#include "sim/plot.h"
#include "sim/receive_pool.h"
#include "sim/swarm.h"
#include "transport/uc/uc_qp.h"
#include "transport/ud/ud_qp.h"

namespace verbena::sim {

// A queue pair of an unreliable service, its queues, and its program's memory. Of a connection, one
// end.
struct Station {
  static constexpr wire::QKey kQKey{0x1234};

  struct Peer {
    wire::QpNumber number;
    uint32_t node = 0;
    wire::Psn first_psn;  // that it will send
  };

  // Without a peer, of the datagram service.
  Station(const Swarm& swarm, Endnode& node, wire::QpNumber number, wire::Psn first_psn,
          const std::optional<Peer>& peer, const transport::AddressHandles& handles,
          Random& random);

  [[nodiscard]] bool is_connected() const { return peer.has_value(); }
  // The same to both services.
  template <class Fn>
  auto Visit(Fn fn) {
    return uc ? fn(*uc) : fn(*ud);
  }
  [[nodiscard]] transport::QpState state() const { return uc ? uc->state() : ud->state(); }
  // Packets have arrived there that were not executed yet.
  [[nodiscard]] bool has_kept() const { return uc && uc->has_kept(); }
  // Messages that it has dropped, and counted.
  [[nodiscard]] uint64_t dropped() const;
  // Keys and memory go.
  void Release();

  Endnode* node;
  wire::QpNumber number;
  std::optional<Peer> peer;
  std::unique_ptr<Plot> local;
  std::unique_ptr<Plot> exposed;  // for its peer
  queue::SendQueue send_queue;
  queue::ReceiveQueue receive_queue;
  queue::CompletionQueue send_cq;
  queue::CompletionQueue receive_cq;
  ReceivePool pool;
  std::optional<transport::UcQp> uc;
  std::optional<transport::UdQp> ud;

  CompletionsOracle sends;
  std::map<uint32_t, MessagesOracle> messages;  // to it, by who sent them
  std::vector<uint32_t> free_local, free_exposed;
  bool has_lost_memory = false;
};

}  // namespace verbena::sim
