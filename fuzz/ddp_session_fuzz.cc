// Any messages into both ends of a DDP stream session: they hold no more than their bounds, give
// records whole and in order, and translate the set-up without loss.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/check.h"
#include "transport/iwarp/ddp_session.h"
#include "transport/iwarp/mpa_handshake.h"
#include "wire/iwarp/mpa_fpdu.h"

namespace {

using namespace verbena;
using namespace verbena::transport;

using Kind = DdpSession::Inbound::Kind;

// What an end has seen of its peer.
struct End {
  explicit End(DdpRole role) : session(role), role(role) {}

  void TakeAll() {
    for (; session.front() != nullptr; session.Pop()) Take(*session.front());
  }
  void Take(const DdpSession::Inbound& inbound) {
    CHECK(!has_ended);
    CHECK((inbound.kind == Kind::kFrame) == (count++ == 0));
    has_ended = inbound.kind == Kind::kEnd;
    if (inbound.kind == Kind::kRecord) {
      const auto header = wire::FpduHeader::Parse(inbound.bytes);
      CHECK(wire::FpduHeader::kSize + header->ulpdu_length == inbound.bytes.size());
    } else if (inbound.kind == Kind::kFrame) {
      const bool from_initiator = role == DdpRole::kResponder;
      MpaFrameReader reader(from_initiator ? wire::MpaFrameKind::kRequest
                                           : wire::MpaFrameKind::kReply);
      CHECK(reader.Take(inbound.bytes) == inbound.bytes.size() && reader.is_complete());
      const auto control = ControlOf(inbound.bytes, wire::DdpSsn(0));
      const auto back = FrameOf(control->view());
      CHECK(std::ranges::equal(back->view(), inbound.bytes));
    }
  }
  void ShowEarly() {
    session.ShowEarly([&](wire::StreamOffset at, std::span<std::byte> record) {
      CHECK(at.value() + 1 > count);
      CHECK(wire::FpduHeader::Parse(record).has_value());
    });
  }

  DdpSession session;
  const DdpRole role;
  uint64_t count = 0;  // of what was taken
  bool has_ended = false;
};

void Run(DdpRole role, std::span<const std::byte> input) {
  End end(role);
  // Each message: its protocol, its length, then its bytes.
  while (input.size() >= 2) {
    const auto how = std::to_integer<uint8_t>(input[0]);
    const size_t size = std::min<size_t>(std::to_integer<size_t>(input[1]), input.size() - 2);
    const uint32_t protocol = how % 8 == 7 ? how : 16 + how % 2;
    const bool is_good = end.session.OnMessage(protocol, input.subspan(2, size));
    input = input.subspan(2 + size);
    CHECK(end.session.held_bytes() <= DdpSession::kHeldBytesMax);
    if (!is_good) return;
    if (how % 4 != 0) end.ShowEarly();
    if (how % 8 < 4) end.TakeAll();
  }
  end.TakeAll();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  Run(DdpRole::kInitiator, bytes);
  Run(DdpRole::kResponder, bytes);
  static_cast<void>(FrameOf(bytes));
  static_cast<void>(ControlOf(bytes, wire::DdpSsn(3)));
  return 0;
}
