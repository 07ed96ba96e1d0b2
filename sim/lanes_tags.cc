// Lanes whose messages have tags: eager ones, and those that offer bytes to be read (rendezvous).

#include <algorithm>
#include <array>

#include "base/check.h"
#include "sim/lanes.h"

namespace verbena::sim {
using wire::RendezvousHeader;
using wire::TagHeader;
using wire::TagOpcode;

namespace {

constexpr size_t kRequestSize = TagHeader::kSize + RendezvousHeader::kSize;

bool HasTag(const Operation& message) {
  return message.tag.operation == TagOpcode::kEager ||
         message.tag.operation == TagOpcode::kRendezvous;
}

}  // namespace

// Keeps receives posted for the notices to the sender of a tagged lane.
void Lanes::FillNotices(Lane& lane) {
  lane.notices.Fill(random_, [&](const queue::ReceiveWorkRequest& request) {
    return lane.sender->receive_queue().Post(request).has_value();
  });
}

// A message with a tag and its bytes, or with their address (rendezvous); sometimes without a tag.
void Lanes::PostTagged(Lane& lane, Time now) {
  const auto operation = MakeOperation(lane);
  const uint64_t offset = SlotAt(*operation->local_slot);
  std::vector<std::byte>& bytes = operation->bytes;
  const uint64_t kind = random_.Below(8);
  operation->tag = {.operation = kind < 2 ? TagOpcode::kRendezvous : TagOpcode::kEager,
                    .context = static_cast<uint32_t>(operation->id),
                    .tag = random_.Below(TaggedReceives::kTags)};
  if (kind == 2) operation->tag.operation = TagOpcode::kNoTag;
  if (kind < 2) {
    bytes.resize(std::max(bytes.size(), kRequestSize));
    const RendezvousHeader where{.address = GuardedMemory::kBase + offset + kRequestSize,
                                 .r_key = lane.local->keys().remote.value(),
                                 .length = static_cast<uint32_t>(bytes.size() - kRequestSize)};
    where.Serialize(std::span(bytes).subspan(TagHeader::kSize));
    lane.offered.emplace(operation->id, operation);
  }
  if (kind != 2) bytes.resize(std::max(bytes.size(), TagHeader::kSize));
  if (bytes.size() >= TagHeader::kSize) operation->tag.Serialize(bytes);
  lane.local->Store(offset, bytes);
  if (kind < 2) bytes.resize(kRequestSize);
  operation->listed_since = lane.host->receivers.front()->tags->oracle().version();
  const auto opcode =
      random_.Chance(1, 2) ? queue::SendOpcode::kSend : queue::SendOpcode::kSendWithImmediate;
  Submit(lane, operation, {.opcode = opcode}, {lane.local->Bytes(offset, bytes.size())}, now);
}

// A message is matched when it begins, which is after the previous one has ended.
TagsOracle::Version Lanes::SinceOf(const Lane& lane, const Operation& message) {
  return std::max(message.listed_since, lane.heard_at);
}

bool Lanes::IsBusy(const LaneHost& host, const Lane* beside) const {
  return std::ranges::any_of(lanes_, [&](const auto& lane) {
    return lane->host == &host && lane.get() != beside && !lane->inbound.empty();
  });
}

// False for a completion of a request without a tag.
bool Lanes::OnTags(LaneReceiver& receiver, const Completion& completion) {
  if (!TaggedReceives::Has(completion.id)) return false;
  const bool is_change = completion.opcode == CompletionOpcode::kTagAdd ||
                         completion.opcode == CompletionOpcode::kTagRemove ||
                         completion.opcode == CompletionOpcode::kTagSynchronize;
  if (is_change) {
    const auto host = std::ranges::find_if(
        hosts_, [&](const auto& known) { return known->receivers.front().get() == &receiver; });
    receiver.tags->OnOperation(completion, IsBusy(**host, nullptr), findings_);
    return true;
  }
  Lane* const lane = Find(completion.qp);
  if (lane == nullptr) {
    findings_.Add("lanes", "a tagged receive of a queue pair that is gone");
  } else if (completion.status != CompletionStatus::kSuccess) {
    // A rendezvous reads, which may fail like any read.
    const bool is_allowed_error = HasFailed(*lane->receiver) || pages_may_fail() ||
                                  IsAllowed({}, completion.status, AllowedErrorsOf(*lane));
    if (!is_allowed_error) {
      findings_.Add("lanes",
                    std::string("a tagged receive ended with ") + NameOf(completion.status));
    }
    if (lane->reading.erase(completion.id.value()) == 0) {
      receiver.tags->oracle().Failed(completion.id.value());
    }
    receiver.tags->Finish(completion.id, false, findings_);
  } else if (lane->reading.contains(completion.id.value())) {
    OnRead(*lane, receiver, completion);
  } else {
    OnMatched(*lane, receiver, completion);
  }
  return true;
}

void Lanes::OnMatched(Lane& lane, LaneReceiver& receiver, const Completion& completion) {
  if (lane.inbound.empty()) return findings_.Add("tags", "a message was received twice");
  const std::shared_ptr<Operation> message = lane.inbound.front();
  lane.inbound.pop_front();
  message->is_received = true;
  const bool is_eager = message->tag.operation == TagOpcode::kEager;
  const auto bytes = std::span<const std::byte>(message->bytes)
                         .subspan(std::min(message->bytes.size(), TagHeader::kSize))
                         .first(is_eager ? message->bytes.size() - TagHeader::kSize : 0);
  const bool has_immediate = queue::PropertiesOf(message->opcode).carries_immediate;
  const bool fits =
      HasTag(*message) && completion.opcode == CompletionOpcode::kTagReceive &&
      completion.tag_matched && completion.tag_data_valid == is_eager &&
      completion.tag == message->tag.tag && completion.tag_context == message->tag.context &&
      completion.with_immediate == has_immediate && completion.byte_count == bytes.size() &&
      receiver.tags->Holds(completion.id, bytes, findings_);
  if (!fits) findings_.Add("tags", "a message with a tag is not the next one");
  TagsOracle& oracle = receiver.tags->oracle();
  oracle.Matched(completion.id.value(), message->tag.tag, SinceOf(lane, *message),
                 !IsBusy(*lane.host, &lane), findings_);
  lane.heard_at = oracle.version();
  ++matched_;
  if (is_eager) return receiver.tags->Finish(completion.id, true, findings_);
  lane.reading.emplace(completion.id.value(), message);
}

// The bytes of a rendezvous have arrived.
void Lanes::OnRead(Lane& lane, LaneReceiver& receiver, const Completion& completion) {
  const auto found = lane.reading.find(completion.id.value());
  const Operation& message = *found->second;
  const uint64_t length =
      RendezvousHeader::Parse(std::span(message.bytes).subspan(TagHeader::kSize))->length;
  const std::span<const std::byte> bytes(lane.local->At(SlotAt(*message.local_slot) + kRequestSize),
                                         length);
  const bool fits = completion.tag_data_valid && completion.byte_count == length &&
                    receiver.tags->Holds(completion.id, bytes, findings_);
  if (!fits) findings_.Add("tags", "a rendezvous has not brought the bytes that were offered");
  lane.reading.erase(found);
  receiver.tags->Finish(completion.id, true, findings_);
  ++rendezvous_;
}

// The program gets the whole message, including the tag.
void Lanes::OnUnmatched(Lane& lane, LaneReceiver& receiver, Operation& message,
                        const Completion& completion) {
  const auto expected =
      HasTag(message) ? CompletionOpcode::kTagReceive : CompletionOpcode::kNoTagReceive;
  if (completion.opcode != expected || completion.tag_matched) {
    findings_.Add("tags", "a completion does not tell whether a message has a tag");
  }
  TagsOracle& oracle = receiver.tags->oracle();
  if (HasTag(message)) {
    oracle.Unexpected(message.tag.tag, SinceOf(lane, message), !IsBusy(*lane.host, &lane),
                      findings_);
    ++unexpected_;
  }
  lane.heard_at = oracle.version();
  EndOffer(lane, message.id);
}

// Each notice must belong to an offer whose bytes were read.
void Lanes::PollNotices(Lane& lane) {
  std::array<Completion, 64> completions;
  const size_t count = lane.notice_cq.Poll(completions).value();
  for (size_t i = 0; i < count && findings_.empty(); ++i) {
    const auto offset = lane.notices.OffsetOf(completions[i].id, findings_);
    if (!offset) return;
    const bool well = completions[i].status == CompletionStatus::kSuccess;
    if (well) {
      const auto header = TagHeader::Parse(std::span<const std::byte>(
          lane.notices.guarded()->At(*offset), completions[i].byte_count));
      const auto offer = lane.offered.find(header ? header->context : 0);
      const bool fits =
          offer != lane.offered.end() && offer->second->is_received &&
          header->operation == TagOpcode::kFinished && header->tag == offer->second->tag.tag &&
          std::ranges::none_of(
              lane.reading, [&](const auto& reading) { return reading.second == offer->second; });
      if (!fits) return findings_.Add("tags", "a sender got a notice before the bytes were read");
      EndOffer(lane, offer->first);
    } else if (!HasFailed(*lane.sender)) {
      findings_.Add("tags", "a notice did not reach its sender");
    }
    lane.notices.Finish(completions[i].id, well, findings_);
  }
}

void Lanes::EndOffer(Lane& lane, uint64_t id) {
  const auto found = lane.offered.find(id);
  if (found == lane.offered.end()) return;
  const std::shared_ptr<Operation> offer = found->second;
  lane.offered.erase(found);
  if (offer->has_ended) Free(lane, *offer);
}

}  // namespace verbena::sim
