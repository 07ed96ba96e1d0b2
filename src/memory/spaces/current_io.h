#pragma once

#include <atomic>
#include <cstdint>

#include "verbena/current_io_word.h"

namespace verbena::memory {

// The current-I/O word of one region: how a consumer and the hypervisor agree, without a call in
// the common case, when the region's memory may be taken away. One word that both map:
//
//   63       62        61      32 31                          0
//   +---------+----------+----------+----------------------------+
//   | quiesce | interest |    0     | outstanding operations     |
//   +---------+----------+----------+----------------------------+
//
// The consumer counts every operation before it starts and after it has completed. The hypervisor
// sets quiesce when it wants the memory; from then on the consumer starts nothing. When the count
// is zero, or has come down to it, the memory is the hypervisor's until it resumes the region. A
// consumer with work waiting says so by interest.
//
// Every step is one atomic change of one word, so all steps on it have one order that both sides
// see, and each race has two outcomes only:
//
//   Begin, Quiesce   Begin first: Quiesce sees the count and says kBusy.
//                    Quiesce first: Begin sees the bit and starts nothing.
//   End, Quiesce     The last End first: Quiesce sees zero and says kIdle; no call is made.
//                    Quiesce first: it says kBusy; the last End sees the bit and asks for the call.
//   Interest,        Interest first: Resume finds it, and the hypervisor wakes the consumer.
//   Resume           Resume first: RegisterInterest leaves no trace and says kResumed.
//   Begin, Resume    Begin first: kQuiesced, and then RegisterInterest decides as above.
//                    Resume first: kStarted.
//   End, Resume      Both only take away; neither depends on the other. If the last End came first,
//                    its call is under way while the region is in use again: see IsIdle.
//   End, End         Counts differ; only the one that makes it zero asks for the call. As none
//                    begins while quiesced, that is once per kBusy, unless Resume comes before.
//
// Memory order: every successful step releases what its caller did before and acquires what the
// steps before it released; a step that changes nothing acquires. So a hypervisor that got
// kIdle, or sees IsIdle, may assume that all accesses of all ended operations are done and visible
// to it, and that none follow; and an operation that begins after Resume sees the memory, and the
// translations, that the hypervisor put in place.
//
// The hypervisor does not trust the word: its steps are single instructions that a consumer cannot
// delay, and whatever it finds there is an answer, not a failed CHECK.
//
// A view; the word belongs to the shared memory and must outlive it.
// Thread rule: any thread of either process may call its side's functions at any time.
class CurrentIo {
 public:
  using Word = CurrentIoWord::Word;
  // Lock-free atomics are also address-free: the same word may have different addresses in the two
  // processes.
  static_assert(Word::is_always_lock_free);

  static constexpr uint32_t kOutstandingMax = UINT32_MAX;

  using BeginResult = CurrentIoWord::BeginResult;
  using EndResult = CurrentIoWord::EndResult;
  enum class InterestResult { kRegistered, kResumed };
  enum class QuiesceResult { kIdle, kBusy, kAlreadyQuiesced };
  enum class ResumeResult { kNoWaiter, kWakeConsumer };

  // A word of zero is a region in use with nothing outstanding.
  explicit CurrentIo(Word& word) : word_(word) {}

  // ---- The consumer.

  // Before `operations` start: all of them or none. kQuiesced: none may start, see
  // RegisterInterest. kTooMany: the count would pass kOutstandingMax; some must end first.
  [[nodiscard]] BeginResult Begin(uint32_t operations = 1) {
    return CurrentIoWord::Begin(word_, operations);
  }

  // After `operations`, at least one, that were begun have completed. kLastWhileQuiesced: the
  // hypervisor waits, and the caller now makes the "memory region quiesced" call. kNotBegun: there
  // are not so many, and nothing has changed.
  [[nodiscard]] EndResult End(uint32_t operations = 1) {
    return CurrentIoWord::End(word_, operations);
  }

  // After kQuiesced, with the request queued. kRegistered: the hypervisor will resume the region
  // and wake the consumer. kResumed: the region was resumed; begin again.
  [[nodiscard]] InterestResult RegisterInterest();

  // For a consumer that polls.
  [[nodiscard]] bool IsQuiesced() const;

  // ---- The hypervisor.

  // kIdle: the memory may be taken at once. kBusy: the consumer will call. kAlreadyQuiesced:
  // nothing has changed.
  [[nodiscard]] QuiesceResult Quiesce();

  // Whether the region is quiesced and nothing is outstanding. The hypervisor must check this when
  // the consumer calls: the call may be late, from a quiesce that was resumed before it was
  // complete, or a lie.
  [[nodiscard]] bool IsIdle() const;

  // Ends quiesce and interest in one step, with the memory back in place.
  [[nodiscard]] ResumeResult Resume();

  // Operations that have begun and not ended.
  [[nodiscard]] uint32_t outstanding() const;

  // Whether a consumer waits for the memory. Without interest the memory can stay out for long.
  [[nodiscard]] bool HasInterest() const;

 private:
  Word& word_;
};

}  // namespace verbena::memory
