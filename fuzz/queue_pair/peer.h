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

// One chance in `n`, and none once the input is used up: an input of zeros does nothing unusual.
[[nodiscard]] inline bool Rarely(Choices& choices, uint64_t n) { return choices.Below(n) == n - 1; }

// Bytes of the queue pair's memory that a packet may name.
struct Target {
  uint32_t key = 0;
  uint64_t start = 0;
  uint64_t length = 0;
};

// The far end of the queue pair under test: knows what a peer can know, and makes packets of it
// that are right, nearly right, or not packets at all.
struct Peer {
  wire::Service service = wire::Service::kRc;
  QpNumber number;  // its own
  QpNumber to;
  QKey q_key;
  SrqNumber srq;  // of an extended connection
  uint32_t path_mtu = 256;
  Psn next;  // of its next request
  struct Request {
    Psn psn;
    wire::Operation operation;
    uint32_t length;  // of a read
  };
  std::vector<Request> sent;    // requests of the queue pair that it has heard, the newest last
  std::vector<Target> targets;  // also ended ones

  // One packet: any opcode, its numbers and lengths near to what is expected. Counts as sent.
  [[nodiscard]] Bytes MakePacket(Choices& choices);
  // All packets of a SEND or WRITE, in order.
  [[nodiscard]] std::vector<Bytes> MakeMessage(Choices& choices);
  // All packets of the answer to a request that it has heard, which then counts as answered, as
  // those before it do. Empty if there is none.
  [[nodiscard]] std::vector<Bytes> MakeAnswer(Choices& choices);
  // Bytes, of which at most the destination is right.
  [[nodiscard]] Bytes MakeNoise(Choices& choices) const;

  // A packet of the queue pair has reached it.
  void OnPacket(const wire::Packet& packet);

 private:
  [[nodiscard]] Psn ChoosePsn(const wire::OpcodeInfo& info, Choices& choices) const;
  [[nodiscard]] Bytes MakeResponse(wire::Operation operation, wire::Position position, Psn psn,
                                   size_t size) const;
  [[nodiscard]] Target ChooseTarget(Choices& choices) const;
  void Advance(const wire::OpcodeInfo& info, Psn psn, uint32_t length);
};

}  // namespace verbena::fuzz
