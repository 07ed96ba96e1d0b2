#include "managed/takeover.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/page.h"
#include "managed/packer.h"
#include "managed/program_pages.h"

namespace verbena::managed {
namespace {

// The length of one transfer, and so of memory that exists twice meanwhile.
constexpr uint64_t kPieceMax = 64 * kPageBytes;

}  // namespace

ErrorOr<std::unique_ptr<Takeover>> Takeover::Prepare(const ArenaOptions& options,
                                                     const ArenaCallbacks& callbacks) {
  CHECK(!options.takes_over.empty() && options.granule.bytes() == kPageBytes);
  std::unique_ptr<Takeover> takeover(new Takeover(options.takes_over));
  auto arena = Arena::Make(options, takeover->transfer_.Around(callbacks));
  if (!arena) return Fail(std::move(arena.error()));
  takeover->arena_ = std::move(*arena);
  return takeover;
}

Takeover::Takeover(std::span<std::byte> home) : home_(home) {}

Takeover::~Takeover() {
  if (pages_ != nullptr) GiveBack();
}

ErrorOr<void> Takeover::Take() {
  auto pages = ProgramPages::MoveAside(home_);
  if (!pages) return Fail(std::move(pages.error()));
  pages_ = std::move(*pages);
  const uint64_t filled = Fill();
  if (filled == home_.size() && arena_->PutInPlace()) {
    pages_->Wake();
    return {};
  }
  const Error error = filled == home_.size()
                          ? SystemError("putting managed memory in its place")
                          : SystemError(ENOSPC, "its contents do not fit the swap file");
  Restore(filled);
  ReturnAll();
  return Fail(error);
}

uint64_t Takeover::GiveBack() {
  CHECK(pages_ != nullptr);
  arena_->HoldProgram();
  // Waits for an answer of the pager, after which HoldProgram is in effect. Whether the copy
  // succeeds does not matter.
  static_cast<void>(transfer_.CopyOut(*arena_, 0, pages_->aside().first(kPageBytes)));
  Restore(home_.size());
  const uint64_t lost = ReturnAll();
  arena_->LetProgramGo();
  return lost;
}

// Returns how many bytes were copied.
uint64_t Takeover::Fill() {
  uint64_t done = 0;
  while (done < home_.size()) {
    const Range piece{done, std::min(kPieceMax, home_.size() - done)};
    if (pages_->HasAny(piece.offset, piece.length)) {
      if (!FillPiece(piece)) break;
      pages_->Empty(piece.offset, piece.length);
    }
    done += piece.length;
  }
  return done;
}

// Pieces of zeros need no copy: absent granules read as zeros.
bool Takeover::FillPiece(Range piece) {
  const std::span<const std::byte> aside = pages_->aside();
  const auto is_zero = [&](uint64_t at) { return IsZero(aside.subspan(at, kPageBytes)); };
  const uint64_t end = piece.offset + piece.length;
  for (uint64_t at = piece.offset; at < end;) {
    uint64_t used = at;
    while (used < end && !is_zero(used)) used += kPageBytes;
    if (used == at) {
      at += kPageBytes;
      continue;
    }
    const Answer answer = transfer_.CopyIn(*arena_, at, aside.subspan(at, used - at));
    if (!answer) return false;
    at += *answer;
  }
  return true;
}

// Bytes that were refused for lack of memory are requested again after others have been returned: a
// program that waits for the operator to make room is better than one that loses its data.
void Takeover::Restore(uint64_t length) {
  std::vector<Range> left = {{0, length}};
  uint64_t before = 0;
  while (!left.empty()) {
    left = Restore(left);
    const bool has_progressed = left.size() != std::exchange(before, left.size());
    if (!left.empty() && !has_progressed)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// Returns the ranges that remain.
std::vector<Takeover::Range> Takeover::Restore(const std::vector<Range>& ranges) {
  std::vector<Range> refused;
  for (const Range& range : ranges) {
    const uint64_t end = range.offset + range.length;
    for (uint64_t at = range.offset; at < end;) {
      uint64_t needed = at;
      while (needed < end && needed - at < kPieceMax && IsNeeded(needed)) needed += kPageBytes;
      at += needed == at ? kPageBytes : PageIn({at, needed - at}, refused);
    }
  }
  return refused;
}

// Returns how many bytes are finished, restored or lost. Restored bytes are discarded from the
// arena at once, so that they are not in memory twice.
uint64_t Takeover::PageIn(Range range, std::vector<Range>& refused) {
  const Answer answer =
      transfer_.CopyOut(*arena_, range.offset, pages_->aside().subspan(range.offset, range.length));
  if (answer) {
    arena_->Discard(range.offset, *answer);
    return *answer;
  }
  if (answer.error() == paging::RequestError::kBroken) {
    lost_.insert(range.offset);
  } else {
    refused.push_back({range.offset, kPageBytes});
  }
  return kPageBytes;
}

bool Takeover::IsNeeded(uint64_t offset) const {
  return arena_->residency(offset) != Residency::kAbsent && !arena_->IsGone(offset);
}

uint64_t Takeover::ReturnAll() {
  enum class Fate { kReturned, kLost, kGone };
  const auto fate_of = [this](uint64_t at) {
    if (arena_->IsGone(at)) return Fate::kGone;
    return lost_.contains(at) ? Fate::kLost : Fate::kReturned;
  };
  for (uint64_t at = 0; at < home_.size();) {
    const Fate fate = fate_of(at);
    uint64_t end = at;
    while (end < home_.size() && fate_of(end) == fate) end += kPageBytes;
    switch (fate) {
      case Fate::kReturned:
        pages_->Return(at, end - at);
        break;
      case Fate::kLost:
        pages_->Lose(at, end - at);
        break;
      case Fate::kGone:
        pages_->Forget(at, end - at);
        break;
    }
    at = end;
  }
  pages_->Wake();
  pages_.reset();
  return lost_.size() * kPageBytes;
}

}  // namespace verbena::managed
