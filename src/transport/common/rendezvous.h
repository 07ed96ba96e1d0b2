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

// What follows a rendezvous request that found its tagged receive: a read of the peer's bytes into
// it, and then a message to the peer that says so. Both go through the queue pair's send queue, as
// elements that the program did not post and hears nothing of; it hears when the bytes are there.
//
//   Begin: waiting -> Post: in the send queue -> OnEnded: completion, and the receive is given back
//
// Owned by its queue pair; one thread at a time. Posting takes the lock of the send queue, which no
// program holds while it waits for the engine. A request costs a round trip, so it may allocate.
class TagRendezvous {
 public:
  // Of the send queue's room, and that of each of its elements.
  static constexpr uint32_t kElements = 2;
  static constexpr uint32_t kInlineBytes = wire::TagHeader::kSize;

  // REQUIRES: each element of the send queue has room for kInlineBytes and the list of a receive.
  // `who`: the queue pair in the domain of the receive queue.
  TagRendezvous(const memory::Accessor& who, queue::SendQueue& queue, queue::TagMatcher& tags,
                queue::CompletionQueue& cq)
      : who_(who), queue_(queue), tags_(tags), cq_(cq) {
    place_.reserve(tags.sges_max());
  }
  TagRendezvous(const TagRendezvous&) = delete;
  TagRendezvous& operator=(const TagRendezvous&) = delete;

  // Without memory it ends at once, and the program is told that it is not complete. REQUIRES: the
  // receive is taken, and long enough.
  void Begin(queue::TagMatcher::Index receive, const wire::TagHeader& header,
             const wire::RendezvousHeader& data, Step& step) {
    if (WhenMemory([&] { waiting_.push_back({receive, header, data}); })) return;
    Finish(receive, CompletionStatus::kTagMatchingIncomplete, 0, step);
  }

  // In whose name the bytes that were read are placed: they go where a tagged receive says.
  [[nodiscard]] const memory::Accessor& who() const { return who_; }

  // Puts as much of what is waiting into the send queue as there is room for.
  void Post();

  // An element of ours has ended. False when the completion is lost.
  [[nodiscard]] bool OnEnded(const queue::SendWqe& wqe, CompletionStatus status,
                             uint32_t byte_count, Step& step);

  // What is waiting ends as flushed: the queue pair is in error.
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
  std::vector<Sge> place_;  // of TryPost, kept for its capacity
};

}  // namespace verbena::transport
