#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/mad/cm_mad.h"

namespace verbena::sim {

// One side of a conversation, as its consumer knows it.
struct CmSide {
  uint32_t node = 0;
  uint32_t life = 0;  // generation of the node: changes with a crash
  wire::CommId id{};
  QpNumber qp{};  // 0: not known yet
  bool is_known = false;

  // Counts of events, each of which occurs at most once.
  uint32_t requests = 0, responses = 0, established = 0, finals = 0, exits = 0;
  // Calls of the consumer.
  bool accepts = false, establishes = false, rejects = false, destroys = false;
  bool ignores = false;      // does not respond, or too late
  bool was_refused = false;  // by a manager, not by a consumer

  // The consumer gets no more events, except the end of a timewait.
  [[nodiscard]] bool is_over() const { return finals > 0 || rejects || destroys; }
};

// A connection that one node requests of another, or a SIDR request.
struct CmConversation {
  uint32_t number = 0;
  bool is_sidr = false;
  // What the consumers have called in any generation of their nodes.
  bool was_accepted = false, was_rejected = false;
  CmSide active, passive;
};

// The private data that a consumer sends with a message: it identifies the conversation and the
// message, and fills all the room. So data of another conversation, or truncated data, is noticed.
template <std::size_t kSize>
[[nodiscard]] wire::PrivateData<kSize> DataOf(uint32_t conversation, wire::CmAttribute attribute) {
  wire::PrivateData<kSize> data;
  uint64_t mixed = uint64_t{conversation} << 16 | static_cast<uint64_t>(attribute);
  for (std::size_t i = 0; i < 4; ++i) {
    data.bytes[i] = static_cast<std::byte>(conversation >> (24 - 8 * i));
  }
  for (std::size_t i = 4; i < kSize; ++i) {
    mixed = mixed * 0x5851F42D4C957F2D + 0x14057B7EF767814F;
    data.bytes[i] = static_cast<std::byte>(mixed >> 56);
  }
  return data;
}

// The conversation that the bytes identify, if any.
template <std::size_t kSize>
[[nodiscard]] uint32_t NumberIn(const wire::PrivateData<kSize>& data) {
  uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    number = number << 8 | std::to_integer<uint32_t>(data.bytes[i]);
  }
  return number;
}

}  // namespace verbena::sim
