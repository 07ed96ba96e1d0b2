#include "transport/common/rendezvous.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "base/check.h"
#include "transport/common/complete.h"

namespace verbena::transport {
namespace {

// Copies the first elements of the list, which hold `length` bytes.
void CopyFirst(std::span<const Sge> list, uint32_t length, std::vector<Sge>& first) {
  first.clear();
  for (Sge sge : list) {
    if (length == 0) break;
    sge.length = std::min(sge.length, length);
    length -= sge.length;
    first.push_back(sge);
  }
}

queue::SendWqe ReadOf(queue::TagMatcher::Index receive, const wire::RendezvousHeader& data) {
  return {.id = WrId(receive.value()),
          .opcode = queue::SendOpcode::kRead,
          .flags = {.signaled = true},
          .internal = true,
          .operand = RemoteAddress{data.address, Key(data.r_key)}};
}

// Fenced, so that it is sent after the read is complete.
constexpr queue::SendWqe kFinished{.opcode = queue::SendOpcode::kSend,
                                   .flags = {.signaled = true, .fence = true, .inlined = true},
                                   .internal = true};

}  // namespace

void TagRendezvous::Post() {
  while (!waiting_.empty() && TryPost(waiting_.front())) waiting_.pop_front();
}

bool TagRendezvous::TryPost(const Request& request) {
  std::array<std::byte, wire::TagHeader::kSize> header;
  wire::TagHeader finished = request.header;
  finished.operation = wire::TagOpcode::kFinished;
  finished.Serialize(header);
  const std::array inlined = {
      Sge{.address = reinterpret_cast<uintptr_t>(header.data()), .length = wire::TagHeader::kSize}};
  CopyFirst(tags_.SgesOf(request.receive), request.data.length, place_);

  queue::SendQueue::Posting posting(queue_);
  const auto read = posting.Add({.wqe = ReadOf(request.receive, request.data), .sges = place_});
  const auto notice = posting.Add({.wqe = kFinished, .sges = inlined});
  if (read && notice) return true;
  CHECK(notice.error() == PostReason::kQueueFull);
  posting.Abort();
  return false;
}

bool TagRendezvous::OnEnded(const queue::SendWqe& wqe, CompletionStatus status, uint32_t byte_count,
                            Step& step) {
  // The success of the message to the peer needs no completion. If it fails, the queue pair goes
  // into error.
  if (wqe.opcode != queue::SendOpcode::kRead) return true;
  const queue::TagMatcher::Index receive(static_cast<uint32_t>(wqe.id.value()));
  return Finish(receive, status, byte_count, step);
}

void TagRendezvous::Flush(Step& step) {
  for (const Request& request : waiting_) {
    Finish(request.receive, CompletionStatus::kFlushed, 0, step);
  }
  waiting_.clear();
}

bool TagRendezvous::Finish(queue::TagMatcher::Index receive, CompletionStatus status,
                           uint32_t byte_count, Step& step) {
  Completion completion;
  completion.id = tags_.IdOf(receive);
  completion.qp = who_.qp;
  completion.status = status;
  completion.opcode = CompletionOpcode::kTagReceive;
  completion.byte_count = byte_count;
  completion.tag_data_valid = status == CompletionStatus::kSuccess;
  tags_.Give(receive);
  return Complete(completion, false, cq_, step);
}

}  // namespace verbena::transport
