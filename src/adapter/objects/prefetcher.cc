#include "adapter/objects/prefetcher.h"

#include <algorithm>

#include "transport/common/outbox.h"
#include "transport/common/placement.h"

namespace verbena::adapter {
namespace {

// Of a shared queue, which may be long: as many requests as a burst of messages takes. They are
// requested in halves, because each page request wakes a pager, which costs a program that polls
// several times as much as a message.
constexpr uint64_t kSharedAheadMax = 64;
constexpr uint64_t kSharedAheadMin = kSharedAheadMax / 2;

}  // namespace

void Prefetcher::BeginRound(const queue::ReceiveQueue& queue) {
  receives_.left = queue.limits().capacity;
  prefetches_receives_.store(receives_.left > 0, std::memory_order_relaxed);
}

// Pages of a datagram's buffer are requested when the buffer is posted: when the datagram arrives,
// it is too late.
void Prefetcher::AtReceives(const queue::ReceiveQueue& queue, transport::Step& step) {
  At(queue, queue.end(), pd_, receives_, step);
  if (receives_.left == 0) prefetches_receives_.store(false, std::memory_order_relaxed);
}

void Prefetcher::AtReceives(Srq& srq, transport::Step& step) const {
  const uint64_t begin = srq.begin().value();
  if (srq.looks.next.value() >= begin + kSharedAheadMin) return;
  const queue::WqeNumber near_end(begin + kSharedAheadMax);
  At(srq, std::min(srq.end(), near_end), srq.pd(), srq.looks, step);
}

template <class Queue>
void Prefetcher::At(const Queue& queue, queue::WqeNumber end, memory::PdId pd,
                    ReceivePrefetch& looks, transport::Step& step) const {
  for (looks.next = std::max(looks.next, queue.begin()); looks.next < end;
       looks.next = Next(looks.next)) {
    for (const Sge& sge : queue.SgesAt(looks.next)) {
      Prefetch(sge, memory::AccessKind::kLocalWrite, pd, step);
    }
    if (looks.left > 0) --looks.left;
  }
}

void Prefetcher::AtSends(const queue::SendQueue& queue, queue::WqeNumber first_unsent,
                         transport::Step& step) {
  const queue::WqeNumber end = queue.end();
  // After a reset, a machine that has not sent yet does not know where its queue begins.
  const queue::WqeNumber begin = std::max(queue.begin(), Next(first_unsent));
  for (auto n = std::max(next_send_, begin); n < end; n = Next(n)) {
    const bool fills = queue::PropertiesOf(queue.At(n).opcode).needs_response;
    const auto access = fills ? memory::AccessKind::kLocalWrite : memory::AccessKind::kLocalRead;
    for (const Sge& sge : queue.SgesAt(n)) Prefetch(sge, access, pd_, step);
  }
  next_send_ = end;
}

void Prefetcher::Prefetch(const Sge& sge, memory::AccessKind access, memory::PdId pd,
                          transport::Step& step) const {
  // The rest of a long buffer is requested when a message reaches it.
  const uint64_t length = std::min<uint64_t>(sge.length, transport::kSendAheadMax);
  const memory::Accessor who{pd, qp_};
  for (uint64_t done = 0; done < length;) {
    const memory::Translation translation = step.memory.translator.Translate(
        sge.key, KeyAddress(sge.address + done), length - done, access, who);
    if (const memory::Fault* const fault = AsFault(translation)) {
      step.outbox.PrefetchPages({qp_, transport::kPrefetchTicket, *fault});
    }
    const memory::Ready* const ready = AsReady(translation);
    if (ready == nullptr) return;
    done += ready->spans.length();
  }
}

}  // namespace verbena::adapter
