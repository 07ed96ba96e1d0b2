#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/choices.h"
#include "wire/roce/opcode.h"
#include "wire/roce/packet.h"
#include "wire/roce/types.h"

namespace verbena::fuzz {

using memory::model::Choices;
using Bytes = std::vector<std::byte>;

// True with probability 1/n, and never after the end of the input.
[[nodiscard]] inline bool Rarely(Choices& choices, uint64_t n) { return choices.Below(n) == n - 1; }

// Bytes of the queue pair's memory that packets access.
struct Target {
  uint32_t key = 0;
  uint64_t start = 0;
  uint64_t length = 0;
};

// The peer of the queue pair under test. From what a peer can know, it makes packets that are
// valid, nearly valid, or random bytes.
struct Peer {
  wire::Service service = wire::Service::kRc;
  QpNumber number;  // of the peer
  QpNumber to;
  QKey q_key;
  SrqNumber srq;  // XRC only
  uint32_t path_mtu = 256;
  Psn next;  // PSN of its next request
  struct Request {
    Psn psn;
    wire::Operation operation;
    uint32_t length;  // of a read
  };
  std::vector<Request> sent;    // requests that it has received, the newest last
  std::vector<Target> targets;  // including those with invalidated keys

  // One packet of any opcode, with numbers and lengths close to the expected ones. Counts as sent.
  [[nodiscard]] Bytes MakePacket(Choices& choices);
  // All packets of a SEND or WRITE, in order.
  [[nodiscard]] std::vector<Bytes> MakeMessage(Choices& choices);
  // All packets of the response to a received request, which then counts as answered together with
  // all earlier ones. Empty if there is none.
  [[nodiscard]] std::vector<Bytes> MakeAnswer(Choices& choices);
  // Random bytes, possibly with a valid destination QP.
  [[nodiscard]] Bytes MakeNoise(Choices& choices) const;

  // Handles a packet of the queue pair.
  void OnPacket(const wire::Packet& packet);

 private:
  [[nodiscard]] Psn ChoosePsn(const wire::OpcodeInfo& info, Choices& choices) const;
  [[nodiscard]] Bytes MakeResponse(wire::Operation operation, wire::Position position, Psn psn,
                                   size_t size) const;
  [[nodiscard]] Target ChooseTarget(Choices& choices) const;
  void Advance(const wire::OpcodeInfo& info, Psn psn, uint32_t length);
};

}  // namespace verbena::fuzz
