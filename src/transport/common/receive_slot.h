#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/check.h"
#include "memory/access.h"
#include "memory/memory_core.h"
#include "queue/completion_queue.h"
#include "queue/sge_cursor.h"
#include "transport/common/placement.h"
#include "transport/common/receive_source.h"
#include "transport/common/step.h"
#include "transport/common/tagged_message.h"
#include "wire/roce/packet.h"
#include "wire/roce/types.h"

namespace verbena::transport {

class TagRendezvous;

// The receive request that a queue pair works on, from when it is taken until it completes. If an
// unreliable message is dropped, the next message uses the same request: the content of its buffer
// is undefined then, but there is no completion. (IBA 9.8.2.2.1)
//
// Owned by its queue pair; used by one thread at a time.
class ReceiveSlot {
 public:
  // `rendezvous` is given if the source does tag matching.
  ReceiveSlot(QpNumber qp, ReceiveSource source, queue::CompletionQueue& cq,
              TagRendezvous* rendezvous = nullptr)
      : qp_(qp), source_(source), cq_(&cq), rendezvous_(rendezvous) {}
  // A slot that has no source yet.
  explicit ReceiveSlot(QpNumber qp) : qp_(qp) {}

  // Takes its requests from `source` from now on. REQUIRES: none is taken.
  void Serve(ReceiveSource source, queue::CompletionQueue& cq) {
    CHECK(!is_taken());
    source_ = source;
    cq_ = &cq;
  }
  [[nodiscard]] const ReceiveSource& source() const { return source_; }
  // The queue is about to be destroyed: a request of it is given back, without a completion.
  void Forget(const queue::SharedReceiveQueue& queue);

  // Takes a request if none is taken. False if none is posted.
  [[nodiscard]] bool Take(Step& step) { return receive_ || TakeNext(step); }
  // The same for the send that begins with these bytes. With tag matching, it may have a receive of
  // its own.
  [[nodiscard]] bool TakeFor(std::span<const std::byte> beginning, Step& step) {
    if (receive_ || source_.tags() == nullptr) return Take(step);
    return TakeTagged(TaggedMessage::Of(beginning), step);
  }
  [[nodiscard]] bool is_taken() const { return receive_.has_value(); }

  // REQUIRES, from here on: is_taken().

  // The bytes that the buffers can still take, and those that they have taken.
  [[nodiscard]] uint64_t room() const {
    return receive_->element.length - filled() + receive_->left_out;
  }
  [[nodiscard]] uint64_t filled() const { return receive_->cursor.offset(); }
  // See ReceiveWqe.
  [[nodiscard]] bool fills() const { return receive_->element.fills; }

  // `who` is the queue pair. REQUIRES: room() is enough. `ahead` as in ScatterSend.
  [[nodiscard]] Placement Append(std::span<const std::byte> bytes, uint64_t ahead,
                                 const memory::Accessor& who, memory::MemoryCore& memory) {
    if (receive_->left_out > 0) [[unlikely]] {
      return AppendRest(bytes, ahead, who, memory);
    }
    return ScatterSend(receive_->cursor, bytes, ahead, source_.AccessorFor(who), memory);
  }
  // Returns to the first byte, because the message is dropped.
  void Rewind() { receive_->cursor = queue::SgeCursor(receive_->element.sges); }

  // Completes the request with the fields of `completion`, and sets its id and queue pair. False if
  // the completion is lost.
  bool Finish(Completion completion, bool solicited, Step& step);
  bool Finish(CompletionStatus status, Step& step, VendorError vendor_error = 0);

  // Flushes all requests, because the queue pair is in error. Of a shared queue, only the request
  // that was taken is flushed. Must be called again after more are posted. Does not require that
  // one is taken.
  void Flush(Step& step);

  [[nodiscard]] bool IsConsistent() const { return !receive_ || receive_->cursor.IsConsistent(); }

 private:
  struct Receive {
    ReceiveSource::Element element;
    queue::SgeCursor cursor;
    TaggedMessage message = {};
    uint64_t left_out = 0;  // bytes of the rest of the message that have no buffer
  };

  bool TakeNext(Step& step);
  bool TakeTagged(const TaggedMessage& message, Step& step);
  Placement AppendRest(std::span<const std::byte> bytes, uint64_t ahead,
                       const memory::Accessor& who, memory::MemoryCore& memory);
  void GiveBack(const Receive& ended, bool succeeded, Step& step);

  const QpNumber qp_;
  ReceiveSource source_;
  queue::CompletionQueue* cq_ = nullptr;  // not null if there is a source
  TagRendezvous* rendezvous_ = nullptr;
  std::optional<Receive> receive_;
  bool last_wqe_was_raised_ = false;
};

// The fields of the completion that come from the last packet of the message.
[[nodiscard]] Completion ReceiveCompletionOf(const wire::Packet& packet, uint32_t byte_count);

}  // namespace verbena::transport
