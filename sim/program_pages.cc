#include "sim/program_pages.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace verbena::sim {

// As many frames are free as are mapped.
ProgramPages::ProgramPages(Endnode& node, uint32_t pages, Random& random)
    : node_(node),
      guarded_(
          node.MakeGuardedMemory({.bytes = 2 * pages * kPage, .rights = Access::kLocal}, random)),
      frames_(pages) {
  for (uint32_t frame = 0; frame < 2 * pages; ++frame) free_.push_back(frame);
  for (Page& page : frames_) Map(page);
}

void ProgramPages::Release(Findings& findings) {
  Check(findings);
  node_.Release(*guarded_);
}

void ProgramPages::Map(Page& page) {
  page.frame = free_.front();
  free_.pop_front();
}

std::optional<std::vector<memory::PhysicalAddress>> ProgramPages::FramesAt(Interval bytes) const {
  std::vector<memory::PhysicalAddress> found;
  for (uint64_t page = PageOf(bytes.first); page <= PageOf(bytes.last); ++page) {
    if (page >= frames_.size() || frames_[page].frame == kNone) return std::nullopt;
    found.push_back(guarded_->AddressOf(frames_[page].frame * kPage));
  }
  return found;
}

void ProgramPages::Replace(uint64_t first, uint64_t count, bool leaves_hole) {
  for (uint64_t at = first; at < std::min<uint64_t>(first + count, frames_.size()); ++at) {
    Page& page = frames_[at];
    if (page.uses > 0 || page.frame == kNone) continue;
    ++replaced_;
    free_.push_back(std::exchange(page.frame, kNone));
    if (std::exchange(page.is_watched, false)) {
      events_.push_back({kStart + at * kPage, kStart + at * kPage + kPage - 1});
    }
    if (!leaves_hole) Map(page);
  }
}

void ProgramPages::Use(Interval bytes) {
  for (uint64_t at = PageOf(bytes.first); at <= PageOf(bytes.last); ++at) {
    if (frames_[at].frame == kNone) Map(frames_[at]);
    ++frames_[at].uses;
  }
}

void ProgramPages::EndUse(Interval bytes) {
  for (uint64_t at = PageOf(bytes.first); at <= PageOf(bytes.last); ++at) --frames_[at].uses;
}

template <class Fn>
void ProgramPages::ForEachPiece(uint64_t address, std::span<const std::byte> bytes, Fn fn) {
  while (!bytes.empty()) {
    const uint64_t in_page = address % kPage;
    const uint64_t length = std::min<uint64_t>(kPage - in_page, bytes.size());
    const Page& page = frames_[PageOf(address)];
    CHECK(page.frame != kNone && page.uses > 0);
    fn(page.frame * kPage + in_page, bytes.first(length));
    bytes = bytes.subspan(length);
    address += length;
  }
}

void ProgramPages::Store(uint64_t address, std::span<const std::byte> bytes) {
  ForEachPiece(address, bytes, [&](uint64_t offset, std::span<const std::byte> piece) {
    guarded_->Store(offset, piece);
  });
}

void ProgramPages::Allow(uint64_t id, uint64_t address, std::span<const std::byte> bytes) {
  uint64_t index = id * kPiecesMax;
  ForEachPiece(address, bytes, [&](uint64_t offset, std::span<const std::byte> piece) {
    guarded_->Allow(index++, offset, {piece.begin(), piece.end()});
    CHECK(index <= (id + 1) * kPiecesMax);
  });
}

void ProgramPages::Finish(uint64_t id, bool well, Findings& findings) {
  for (uint64_t i = 0; i < kPiecesMax; ++i) {
    guarded_->shadow().Finish(id * kPiecesMax + i, well, "an access to cached memory", findings);
  }
}

// Either takes an event, or passes on the one that it has.
void ProgramPages::StepReader() {
  if (listener_ == nullptr) return;
  if (reading_) {
    listener_->OnGivenUp(reading_->first, reading_->last);
    listener_->OnRead();
    reading_.reset();
  } else if (!events_.empty()) {
    listener_->OnReading();
    reading_ = events_.front();
    events_.pop_front();
  }
}

bool ProgramPages::Watch(uint64_t address, uint64_t length) {
  const uint64_t first = PageOf(address), last = PageOf(address + length - 1);
  for (uint64_t at = first; at <= last; ++at) {
    if (IsShared(at)) return false;
  }
  for (uint64_t at = first; at <= last; ++at) {
    frames_[at].is_watched = frames_[at].is_watched || frames_[at].frame != kNone;
  }
  return true;
}

void ProgramPages::ReadPending() {
  while (!events_.empty()) {
    listener_->OnReading();
    const Interval bytes = events_.front();
    events_.pop_front();
    listener_->OnGivenUp(bytes.first, bytes.last);
    listener_->OnRead();
  }
}

bool ProgramPages::Add(MemoryListener& listener) {
  CHECK(listener_ == nullptr);
  listener_ = &listener;
  return true;
}

void ProgramPages::Remove(MemoryListener& /*listener*/) {
  while (!is_reader_idle()) StepReader();
  listener_ = nullptr;
}

}  // namespace verbena::sim
