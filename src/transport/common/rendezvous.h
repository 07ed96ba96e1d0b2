#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/when_memory.h"
#include "memory/access.h"
#include "queue/completion.h"
#include "queue/completion_queue.h"
#include "queue/tag_matcher.h"
#include "queue/work_queue.h"
#include "transport/common/step.h"
#include "wire/tag_header.h"

namespace verbena::transport {

// The work after a rendezvous request has matched a tagged receive: a read of the peer's bytes into
// it, and then a message to the peer that says so. Both go through the send queue of the queue
// pair, as elements without a completion for the program; the program gets a completion when the
// bytes have arrived.
class TagRendezvous {
 public:
  // What a rendezvous needs: elements of the send queue, and inline bytes of each element.
  static constexpr uint32_t kElements = 2;
  static constexpr uint32_t kInlineBytes = wire::TagHeader::kSize;

  // REQUIRES: each element of the send queue has room for kInlineBytes and the list of a receive.
  // `who`: the queue pair, in the protection domain of the receive queue.
  TagRendezvous(const memory::Accessor& who, queue::SendQueue& queue, queue::TagMatcher& tags,
                queue::CompletionQueue& cq)
      : who_(who), queue_(queue), tags_(tags), cq_(cq) {
    place_.reserve(tags.sges_max());
  }
  TagRendezvous(const TagRendezvous&) = delete;
  TagRendezvous& operator=(const TagRendezvous&) = delete;

  // If there is no memory, the receive completes at once with kTagMatchingIncomplete. REQUIRES: the
  // receive is taken, and long enough.
  void Begin(queue::TagMatcher::Index receive, const wire::TagHeader& header,
             const wire::RendezvousHeader& data, Step& step) {
    if (WhenMemory([&] { waiting_.push_back({receive, header, data}); })) return;
    Finish(receive, CompletionStatus::kTagMatchingIncomplete, 0, step);
  }

  // The accessor that places the bytes of the read into the tagged receive.
  [[nodiscard]] const memory::Accessor& who() const { return who_; }

  // Posts as many of the waiting elements as the send queue has room for.
  void Post();

  // One of its elements has completed. False if the completion of the receive is lost.
  [[nodiscard]] bool OnEnded(const queue::SendWqe& wqe, CompletionStatus status,
                             uint32_t byte_count, Step& step);

  // Flushes what is waiting, because the queue pair is in error.
  void Flush(Step& step);

 private:
  struct Request {
    queue::TagMatcher::Index receive;
    wire::TagHeader header;
    wire::RendezvousHeader data;
  };

  [[nodiscard]] bool TryPost(const Request& request);
  bool Finish(queue::TagMatcher::Index receive, CompletionStatus status, uint32_t byte_count,
              Step& step);

  const memory::Accessor who_;
  queue::SendQueue& queue_;
  queue::TagMatcher& tags_;
  queue::CompletionQueue& cq_;
  std::deque<Request> waiting_;
  std::vector<Sge> place_;  // used by TryPost; a member to keep its capacity
};

}  // namespace verbena::transport
