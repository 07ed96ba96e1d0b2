#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/tag_header.h"

namespace verbena::transport {

// What the beginning of a message to a tag matching queue makes of it.
//
// A value type.
struct TaggedMessage {
  enum class Kind : uint8_t {
    kPlain,       // the queue does no tag matching, or it is no send
    kUntagged,    // for the program to look at
    kUnexpected,  // likewise: no receive has its tag
    kEager,
    kRendezvous,
  };

  Kind kind = Kind::kPlain;
  wire::TagHeader header = {};
  wire::RendezvousHeader data = {};  // of a rendezvous

  // What it is if a receive has its tag. One that is too short for what it says has none.
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
