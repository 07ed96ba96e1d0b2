#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/tag_header.h"

namespace verbena::transport {

// The kind of a message to a tag matching queue, from its first bytes.
//
// A value type.
struct TaggedMessage {
  enum class Kind : uint8_t {
    kPlain,       // the queue does no tag matching, or the message is no send
    kUntagged,    // delivered to the program as it is
    kUnexpected,  // likewise: no receive matches its tag
    kEager,
    kRendezvous,
  };

  Kind kind = Kind::kPlain;
  wire::TagHeader header = {};
  wire::RendezvousHeader data = {};  // of a rendezvous

  // The kind if a receive matches the tag. A message that is too short for its headers is
  // kUntagged.
  [[nodiscard]] static TaggedMessage Of(std::span<const std::byte> beginning) {
    const auto header = wire::TagHeader::Parse(beginning);
    if (!header) return {.kind = Kind::kUntagged};
    if (header->operation == wire::TagOpcode::kEager) {
      return {.kind = Kind::kEager, .header = *header};
    }
    if (header->operation == wire::TagOpcode::kRendezvous) {
      const auto data = wire::RendezvousHeader::Parse(beginning.subspan(wire::TagHeader::kSize));
      if (data) return {.kind = Kind::kRendezvous, .header = *header, .data = *data};
    }
    return {.kind = Kind::kUntagged};
  }

  [[nodiscard]] bool has_tag() const { return kind == Kind::kEager || kind == Kind::kRendezvous; }
};

}  // namespace verbena::transport
