// Any bytes, in pieces of any size, into both ends of the set-up of an MPA connection: they take no
// byte behind a frame, agree on nothing that they do not know, and write what they read.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "transport/iwarp/mpa_handshake.h"
#include "transport/iwarp/stream_kind.h"

namespace {

using namespace verbena;
using namespace verbena::transport;

MpaTerms SomeTerms(uint8_t byte) {
  return {.revision = static_cast<uint8_t>(1 + (byte & 1)),
          .markers = (byte & 2) != 0,
          .crc = (byte & 4) != 0,
          .ird = static_cast<uint16_t>(byte & 8 ? 0 : 4),
          .ord = static_cast<uint16_t>(byte & 16 ? 0 : 3),
          .peer_to_peer = (byte & 32) != 0};
}

// Gives the bytes in pieces of `piece`; returns how many were taken.
size_t Feed(MpaFrameReader& reader, std::span<const std::byte> bytes, size_t piece) {
  size_t taken = 0;
  while (taken < bytes.size()) {
    const auto part = bytes.subspan(taken, std::min(piece, bytes.size() - taken));
    const size_t took = reader.Take(part);
    CHECK(took <= part.size());
    taken += took;
    if (took < part.size()) break;
  }
  CHECK(!(reader.is_complete() && reader.failure()));
  return taken;
}

void CheckAgreement(const MpaTerms& terms, const MpaAgreement& agreement) {
  CHECK(agreement.ord <= terms.ord && agreement.ird <= terms.ird);
  CHECK(agreement.revision >= 1 && agreement.revision <= 2);
  CHECK(agreement.stream.receive_markers == terms.markers);
  CHECK(agreement.stream.crc || !terms.crc);
}

void Respond(std::span<const std::byte> bytes, const MpaTerms& terms, size_t piece) {
  MpaFrameReader request(wire::MpaFrameKind::kRequest);
  const size_t taken = Feed(request, bytes, piece);
  if (!request.is_complete()) return;
  CHECK(KindOf(bytes) == StreamKind::kRdma);
  CHECK(request.private_data().size() <= wire::MpaRequest::kPrivateDataMax);
  CHECK(taken == wire::MpaRequest::kSize + request.frame().private_data_length);
  const auto data =
      request.private_data().first(std::min<size_t>(request.private_data().size(), 100));
  const MpaAcceptance accepted = AcceptMpa(request, terms, data);
  CheckAgreement(terms, accepted.agreement);
  // The initiator can read the reply.
  MpaFrameReader reply(wire::MpaFrameKind::kReply);
  CHECK(reply.Take(accepted.reply.bytes()) == accepted.reply.bytes().size());
  CHECK(reply.is_complete() && std::ranges::equal(reply.private_data(), data));
  MpaFrameReader rejected(wire::MpaFrameKind::kReply);
  const MpaFrameBytes rejection = RejectMpa(request, data);
  CHECK(rejected.Take(rejection.bytes()) == rejection.bytes().size() && rejected.frame().rejects);
}

void Conclude(std::span<const std::byte> bytes, const MpaTerms& terms, size_t piece) {
  MpaFrameReader reply(wire::MpaFrameKind::kReply);
  Feed(reply, bytes, piece);
  if (!reply.is_complete() || reply.frame().rejects) return;
  const MpaResult result = ConcludeMpa(terms, reply);
  if (result.agreement) CheckAgreement(terms, *result.agreement);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const MpaTerms terms = SomeTerms(data[0]);
  const size_t piece = 1 + data[1];
  const auto bytes = std::as_bytes(std::span(data + 2, size - 2));
  Respond(bytes, terms, piece);
  Conclude(bytes, terms, piece);
  static_cast<void>(KindOf(bytes));
  return 0;
}
