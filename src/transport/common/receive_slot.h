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

// The receive request that a queue pair works on, from when it is taken until it completes. An
// unreliable message that is dropped gives it back to the next one: what the buffer holds then is
// undefined, but the program never hears of it. (IBA 9.8.2.2.1)
//
// Owned by its queue pair; one thread at a time.
class ReceiveSlot {
 public:
  // `rendezvous` if the source does tag matching.
  ReceiveSlot(QpNumber qp, ReceiveSource source, queue::CompletionQueue& cq,
              TagRendezvous* rendezvous = nullptr)
      : qp_(qp), source_(source), cq_(&cq), rendezvous_(rendezvous) {}
  // One that serves no message yet.
  explicit ReceiveSlot(QpNumber qp) : qp_(qp) {}

  // From now on takes its requests there. REQUIRES: none is taken.
  void Serve(ReceiveSource source, queue::CompletionQueue& cq) {
    CHECK(!is_taken());
    source_ = source;
    cq_ = &cq;
  }
  [[nodiscard]] const ReceiveSource& source() const { return source_; }
  // The queue is to be no more: the request is given back, and never heard of again.
  void Forget(const queue::SharedReceiveQueue& queue);

  // Makes sure that there is one. False when none is posted.
  [[nodiscard]] bool Take(Step& step) { return receive_ || TakeNext(step); }
  // The same for the send that begins with this. Where tags are matched it may have one by itself.
  [[nodiscard]] bool TakeFor(std::span<const std::byte> beginning, Step& step) {
    if (receive_ || source_.tags() == nullptr) return Take(step);
    return TakeTagged(TaggedMessage::Of(beginning), step);
  }
  [[nodiscard]] bool is_taken() const { return receive_.has_value(); }

  // REQUIRES, from here on: is_taken().

  // Bytes that the buffers still take, and those that they have taken.
  [[nodiscard]] uint64_t room() const {
    return receive_->element.length - filled() + receive_->left_out;
  }
  [[nodiscard]] uint64_t filled() const { return receive_->cursor.offset(); }

  // `who` is the queue pair. REQUIRES: room() is enough. `ahead` as in ScatterSend.
  [[nodiscard]] Placement Append(std::span<const std::byte> bytes, uint64_t ahead,
                                 const memory::Accessor& who, memory::MemoryCore& memory) {
    if (receive_->left_out > 0) [[unlikely]] {
      return AppendRest(bytes, ahead, who, memory);
    }
    return ScatterSend(receive_->cursor, bytes, ahead, source_.AccessorFor(who), memory);
  }
  // Back to the first byte: the message is dropped.
  void Rewind() { receive_->cursor = queue::SgeCursor(receive_->element.sges); }

  // Ends the request with what is told beside its id and queue pair. False when the completion is
  // lost.
  bool Finish(Completion completion, bool solicited, Step& step);
  bool Finish(CompletionStatus status, Step& step, VendorError vendor_error = 0);

  // All requests end as flushed: the queue pair is in error. Of a shared queue only the one that
  // was taken does. To be called again when more were posted since; needs none that is taken.
  void Flush(Step& step);

  [[nodiscard]] bool IsConsistent() const { return !receive_ || receive_->cursor.IsConsistent(); }

 private:
  struct Receive {
    ReceiveSource::Element element;
    queue::SgeCursor cursor;
    TaggedMessage message = {};
    uint64_t left_out = 0;  // of the bytes to come, so many have no buffer
  };

  bool TakeNext(Step& step);
  bool TakeTagged(const TaggedMessage& message, Step& step);
  Placement AppendRest(std::span<const std::byte> bytes, uint64_t ahead,
                       const memory::Accessor& who, memory::MemoryCore& memory);
  void GiveBack(const Receive& ended, bool succeeded, Step& step);

  const QpNumber qp_;
  ReceiveSource source_;
  queue::CompletionQueue* cq_ = nullptr;  // there when the source is
  TagRendezvous* rendezvous_ = nullptr;
  std::optional<Receive> receive_;
  bool last_wqe_was_told_ = false;
};

// What the packet that ends a message tells the program of it.
[[nodiscard]] Completion ReceiveCompletionOf(const wire::Packet& packet, uint32_t byte_count);

}  // namespace verbena::transport
