#include "transport/iwarp/stream_kind.h"

#include <algorithm>

#include "wire/iwarp/mpa_request.h"

namespace verbena::transport {
namespace {

// RFC 7143, 11.12: opcode 0x03, immediate, then flags, and four bytes that are zero: the highest
// and the lowest version, the length of additional headers, and of the highest byte of the data
// length.
constexpr size_t kLoginBytes = 6;

bool MayBeLogin(size_t at, std::byte byte) {
  if (at == 0) return byte == std::byte{0x43};
  return at == 1 || byte == std::byte{0};
}

}  // namespace

StreamKind KindOf(std::span<const std::byte> first) {
  const std::span<const std::byte> key = wire::MpaKeyOf(wire::MpaFrameKind::kRequest);
  const size_t count = std::min(first.size(), key.size());
  if (std::ranges::equal(first.first(count), key.first(count))) {
    return count == key.size() ? StreamKind::kRdma : StreamKind::kUndecided;
  }
  const size_t login = std::min(first.size(), kLoginBytes);
  for (size_t i = 0; i < login; ++i) {
    if (!MayBeLogin(i, first[i])) return StreamKind::kPlain;
  }
  return login == kLoginBytes ? StreamKind::kIscsi : StreamKind::kUndecided;
}

}  // namespace verbena::transport

namespace verbena {

const char* NameOf(StreamKind kind) {
  switch (kind) {
    case StreamKind::kUndecided:
      return "undecided";
    case StreamKind::kRdma:
      return "RDMA";
    case StreamKind::kIscsi:
      return "iSCSI";
    case StreamKind::kPlain:
      return "plain TCP";
  }
  return "?";
}

}  // namespace verbena
