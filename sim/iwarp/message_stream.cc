#include "sim/iwarp/message_stream.h"

#include <utility>

#include "base/check.h"
#include "transport/iwarp/mpa_handshake.h"
#include "wire/iwarp/mpa_fpdu.h"

namespace verbena::sim {

using transport::DdpSession;
using wire::StreamOffset;

MessageStream::MessageStream(const IwarpPlan& plan, Random random, Receive receive)
    : plan_(plan), random_(random), receive_(std::move(receive)) {
  const auto request = transport::MakeMpaRequest({}, {});
  const auto control = sender_.Make(request.bytes());
  CHECK(control.has_value());
  CHECK(receiver_.OnMessage(static_cast<uint32_t>(control->protocol), control->message));
  sender_.Sent();
  CHECK(receiver_.front()->kind == DdpSession::Inbound::Kind::kFrame);
  receiver_.Pop();
}

void MessageStream::Pull(transport::SendBuffer& from, Time now) {
  while (!from.empty() && !is_cut_ && under_way_ < plan_.stream.receive_window) {
    const auto made = sender_.Make(from.bytes()[0]);
    CHECK(made.has_value());
    sender_.Sent();
    Count(made->message);
    under_way_ += made->message.size();
    Message message{made->protocol, Bytes(made->message.begin(), made->message.end())};
    from.Consume(made->taken);
    Send(std::move(message), now);
  }
}

void MessageStream::Send(Message message, Time now) {
  const Duration delay = Nanoseconds(
      static_cast<int64_t>(random_.Below(static_cast<uint64_t>(plan_.delay_max.nanoseconds()))));
  Time at = now + delay;
  if (!Chance(plan_.reorders)) last_ = at = std::max(at, last_);
  messages_.emplace(at, std::move(message));
}

void MessageStream::Run(Time now) {
  while (!messages_.empty() && messages_.begin()->first <= now) {
    const Message message = std::move(messages_.begin()->second);
    messages_.erase(messages_.begin());
    CHECK(receiver_.OnMessage(static_cast<uint32_t>(message.protocol), message.bytes));
    ShowEarly();
    Deliver();
  }
}

void MessageStream::ShowEarly() {
  receiver_.ShowEarly([&](StreamOffset at, std::span<std::byte> record) {
    if (!Chance(plan_.shows) && !is_healed_) return;
    CHECK(receive_(at, record) == 0);
  });
}

// Gives the receiver the records that are in order, and again those that it has not taken.
void MessageStream::Deliver() {
  while (const auto* const next = receiver_.front()) {
    inbox_.insert(inbox_.end(), next->bytes.begin(), next->bytes.end());
    under_way_ -= next->bytes.size();
    receiver_.Pop();
  }
  if (inbox_.empty()) return;
  const size_t size = receive_(StreamOffset(taken_), inbox_);
  CHECK(size <= inbox_.size());
  for (size_t i = 0; i < size; ++taken_) {
    const auto header = wire::FpduHeader::Parse(std::span(inbox_).subspan(i));
    i += wire::FpduHeader::kSize + header->ulpdu_length;
  }
  inbox_.erase(inbox_.begin(), inbox_.begin() + static_cast<ptrdiff_t>(size));
}

void MessageStream::Cut() {
  messages_.clear();
  is_cut_ = true;
}

}  // namespace verbena::sim
