#include "transport/iwarp/mpa_handshake.h"

#include <algorithm>

#include "base/check.h"

namespace verbena::transport {
namespace {

using wire::MpaEnhanced;
using wire::MpaFrameKind;
using wire::MpaRequest;

constexpr uint8_t kRevisionMax = 2;

uint16_t Depth(uint16_t depth) { return std::min(depth, MpaEnhanced::kDepthMax); }

// What this side may send to a peer that accepts `theirs`, which may not be negotiated.
uint16_t Within(uint16_t ours, uint16_t theirs) {
  return theirs == MpaEnhanced::kDepthMax ? ours : std::min(ours, theirs);
}

// Common to both sides: `own` is the frame that this side sends, `peer` that of the other.
StreamConfig StreamOf(const MpaTerms& terms, bool own_markers, const MpaRequest& peer,
                      bool own_crc) {
  return {.send_markers = peer.markers,
          .receive_markers = own_markers,
          .crc = own_crc || peer.crc,
          .ulpdu_max = terms.ulpdu_max};
}

// Of the messages that the initiator offers, the one that costs the least.
MpaRtr ChooseRtr(const MpaEnhanced& offer, uint16_t ird) {
  if (offer.rtr_zero_length) return MpaRtr::kEmptyFrame;
  if (offer.rtr_write) return MpaRtr::kWrite;
  return offer.rtr_read && ird > 0 ? MpaRtr::kRead : MpaRtr::kNone;
}

MpaRtr RtrOf(const MpaEnhanced& reply) {
  if (reply.rtr_zero_length) return MpaRtr::kEmptyFrame;
  if (reply.rtr_write) return MpaRtr::kWrite;
  return reply.rtr_read ? MpaRtr::kRead : MpaRtr::kNone;
}

}  // namespace

size_t MpaFrameReader::Take(std::span<const std::byte> bytes) {
  size_t taken = 0;
  while (!is_complete_ && !failure_ && taken < bytes.size()) {
    const size_t wanted =
        MpaRequest::kSize + (has_header_ ? size_t{frame_.private_data_length} : 0);
    const size_t part = std::min(wanted - size_, bytes.size() - taken);
    std::ranges::copy(bytes.subspan(taken, part), bytes_.begin() + static_cast<ptrdiff_t>(size_));
    size_ += part;
    taken += part;
    // A wrong key is noticed at its first wrong byte.
    const auto key = MpaKeyOf(kind_);
    const size_t known = std::min(size_, key.size());
    if (!std::ranges::equal(std::span(bytes_).first(known), key.first(known))) {
      failure_ = MpaFailure::kNotMpa;
    } else if (size_ == wanted) {
      has_header_ ? void(is_complete_ = true) : OnHeader();
    }
  }
  return taken;
}

void MpaFrameReader::OnHeader() {
  frame_ = *MpaRequest::Parse(std::span<const std::byte>(bytes_).first(MpaRequest::kSize));
  has_header_ = true;
  const bool is_known = frame_.revision >= 1 && frame_.revision <= kRevisionMax;
  const size_t least = frame_.enhanced && frame_.revision >= 2 ? MpaEnhanced::kSize : 0;
  if (!is_known) {
    failure_ = MpaFailure::kRevision;
  } else if (frame_.private_data_length > MpaRequest::kPrivateDataMax ||
             frame_.private_data_length < least) {
    failure_ = MpaFailure::kPrivateData;
  } else {
    is_complete_ = frame_.private_data_length == 0;
  }
}

std::optional<MpaEnhanced> MpaFrameReader::enhanced() const {
  DCHECK(is_complete_);
  if (!frame_.enhanced || frame_.revision < 2) return std::nullopt;
  return MpaEnhanced::Parse(std::span<const std::byte>(bytes_).subspan(MpaRequest::kSize));
}

std::span<const std::byte> MpaFrameReader::private_data() const {
  const size_t skipped = MpaRequest::kSize + (enhanced() ? MpaEnhanced::kSize : 0);
  return std::span(bytes_).first(size_).subspan(skipped);
}

MpaFrameBytes::MpaFrameBytes(const MpaRequest& frame, const std::optional<MpaEnhanced>& enhanced,
                             std::span<const std::byte> private_data) {
  const size_t fixed = enhanced ? MpaEnhanced::kSize : 0;
  CHECK(private_data.size() + fixed <= MpaRequest::kPrivateDataMax);
  MpaRequest whole = frame;
  whole.enhanced = enhanced.has_value();
  whole.private_data_length = static_cast<uint16_t>(fixed + private_data.size());
  whole.Serialize(bytes_);
  const std::span<std::byte> rest = std::span(bytes_).subspan(MpaRequest::kSize);
  if (enhanced) enhanced->Serialize(rest);
  std::ranges::copy(private_data, rest.subspan(fixed).begin());
  size_ = MpaRequest::kSize + whole.private_data_length;
}

MpaFrameBytes MakeMpaRequest(const MpaTerms& terms, std::span<const std::byte> private_data) {
  const MpaRequest frame{.kind = MpaFrameKind::kRequest,
                         .markers = terms.markers,
                         .crc = terms.crc,
                         .revision = terms.revision};
  if (terms.revision < 2) return {frame, std::nullopt, private_data};
  const MpaEnhanced enhanced{.peer_to_peer = terms.peer_to_peer,
                             .ird = Depth(terms.ird),
                             .rtr_write = terms.peer_to_peer,
                             .rtr_read = terms.peer_to_peer && terms.ord > 0,
                             .ord = Depth(terms.ord)};
  return {frame, enhanced, private_data};
}

MpaAcceptance AcceptMpa(const MpaFrameReader& request, const MpaTerms& terms,
                        std::span<const std::byte> private_data) {
  CHECK(request.is_complete());
  MpaAgreement agreement{.revision = request.frame().revision,
                         .stream = StreamOf(terms, terms.markers, request.frame(), terms.crc),
                         .ird = terms.ird,
                         .ord = terms.ord};
  // RFC 5044, 7.1.2: without the message that says so, the first of the program shows that the
  // initiator is ready.
  agreement.stream.waits_for_first = true;
  std::optional<MpaEnhanced> answer;
  if (const auto offer = request.enhanced()) {
    agreement.ord = Within(terms.ord, offer->ird);
    agreement.rtr = offer->peer_to_peer ? ChooseRtr(*offer, terms.ird) : MpaRtr::kNone;
    agreement.stream.takes_empty_frame = agreement.rtr == MpaRtr::kEmptyFrame;
    answer = MpaEnhanced{.peer_to_peer = agreement.rtr != MpaRtr::kNone,
                         .rtr_zero_length = agreement.rtr == MpaRtr::kEmptyFrame,
                         .ird = Depth(agreement.ird),
                         .rtr_write = agreement.rtr == MpaRtr::kWrite,
                         .rtr_read = agreement.rtr == MpaRtr::kRead,
                         .ord = Depth(agreement.ord)};
  }
  const MpaRequest frame{.kind = MpaFrameKind::kReply,
                         .markers = terms.markers,
                         .crc = agreement.stream.crc,
                         .revision = request.frame().revision};
  return {MpaFrameBytes(frame, answer, private_data), agreement};
}

MpaFrameBytes RejectMpa(const MpaFrameReader& request, std::span<const std::byte> private_data) {
  CHECK(request.is_complete());
  const MpaRequest frame{
      .kind = MpaFrameKind::kReply, .rejects = true, .revision = request.frame().revision};
  const auto enhanced = request.enhanced();
  return {frame, enhanced ? std::optional(MpaEnhanced{}) : std::nullopt, private_data};
}

MpaResult ConcludeMpa(const MpaTerms& terms, const MpaFrameReader& reply) {
  CHECK(reply.is_complete() && !reply.frame().rejects);
  // A responder of revision 1 answers with that, and negotiates no depths.
  if (reply.frame().revision > terms.revision) return {.failure = MpaFailure::kRevision};
  MpaAgreement agreement{.revision = reply.frame().revision,
                         .stream = StreamOf(terms, terms.markers, reply.frame(), terms.crc),
                         .ird = terms.ird,
                         .ord = terms.ord};
  if (const auto answer = reply.enhanced()) {
    const bool is_negotiated = answer->ord != MpaEnhanced::kDepthMax;
    if (is_negotiated && answer->ord > terms.ird) return {.failure = MpaFailure::kInsufficientIrd};
    agreement.ord = Within(terms.ord, answer->ird);
    agreement.rtr = terms.peer_to_peer && answer->peer_to_peer ? RtrOf(*answer) : MpaRtr::kNone;
    const bool was_offered = agreement.rtr != MpaRtr::kEmptyFrame &&
                             (agreement.rtr != MpaRtr::kRead || agreement.ord > 0);
    if (!was_offered) return {.failure = MpaFailure::kNoMatchingRtr};
  }
  return {.agreement = agreement};
}

const char* NameOf(MpaFailure failure) {
  switch (failure) {
    case MpaFailure::kNotMpa:
      return "it is no MPA frame";
    case MpaFailure::kRevision:
      return "the revision of MPA is unknown";
    case MpaFailure::kPrivateData:
      return "the private data has a wrong length";
    case MpaFailure::kInsufficientIrd:
      return "the peer wants to send more reads than are accepted";
    case MpaFailure::kNoMatchingRtr:
      return "the peer wants another ready-to-receive message than was offered";
  }
  UNREACHABLE();
}

}  // namespace verbena::transport
