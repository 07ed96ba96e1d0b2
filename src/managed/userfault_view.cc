#include "managed/userfault_view.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "base/page.h"

// Missing from the headers of some supported systems.
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif
#ifndef UFFDIO_CONTINUE_MODE_WP
#define UFFDIO_CONTINUE_MODE_WP (uint64_t{1} << 1)
#endif

// Like MADV_DONTNEED, but also for memory that the program has locked meanwhile. Linux 5.18.
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

namespace verbena::managed {
namespace {

constexpr uint64_t kFeatures = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_MISSING_SHMEM |
                               UFFD_FEATURE_MINOR_SHMEM | UFFD_FEATURE_WP_HUGETLBFS_SHMEM;
constexpr uint64_t kModes =
    UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR | UFFDIO_REGISTER_MODE_WP;

constexpr const char* kTooOld = "userfaultfd for shared memory (Linux 5.19)";

}  // namespace

ErrorOr<std::unique_ptr<CpuView>> UserfaultView::Make(std::span<std::byte> bytes,
                                                      PageShift granule) {
  UffdSource source = UffdSource::Open();
  if (!source.file.is_open()) return Fail(SystemError("userfaultfd"));
  if (!AskFor(source, kFeatures)) return Fail(SystemError(kTooOld));
  if (!Watch(source, bytes, kModes)) return Fail(SystemError("userfaultfd for managed memory"));
  return std::unique_ptr<CpuView>(new UserfaultView(std::move(source), bytes, nullptr, granule));
}

// Without UFFD_FEATURE_EVENT_REMAP the kernel would unregister a mapping that moves.
ErrorOr<std::unique_ptr<CpuView>> UserfaultView::MakeAside(std::span<std::byte> aside,
                                                           std::byte* place, PageShift granule) {
  auto source = OpenForSystemCalls();
  if (!source) return Fail(std::move(source.error()));
  if (!AskFor(*source, kFeatures | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_UNMAP)) {
    return Fail(SystemError(kTooOld));
  }
  if (!Watch(*source, aside, kModes)) return Fail(SystemError("userfaultfd for managed memory"));
  return std::unique_ptr<CpuView>(
      new UserfaultView(std::move(*source), {place, aside.size()}, aside.data(), granule));
}

// Reads pending events first: addresses that the program has just unmapped may belong to other
// memory.
void UserfaultView::Unmap(paging::Run run) {
  if (may_be_given_up_) Listen();
  ForEachLeft(run, [](std::span<std::byte> bytes) {
    // This fails if the program has unmapped the memory itself. Then it cannot see the memory
    // either.
    while (madvise(bytes.data(), bytes.size(), MADV_DONTNEED_LOCKED) != 0 && errno == EAGAIN) {
    }
  });
  Admit(run);
}

void UserfaultView::Map(paging::Run run, bool is_writable) {
  Admit(run);
  const std::span<std::byte> bytes = BytesOf(run);
  if (Show(bytes, is_writable)) return;
  // Some pages were mapped before, perhaps with other rights, and no thread was woken for them.
  Protect(bytes, is_writable);
  Wake(run);
}

void UserfaultView::Refuse(paging::Run run) {
  if (may_be_given_up_) Listen();
  ForEachLeft(run,
              [](std::span<std::byte> bytes) { mprotect(bytes.data(), bytes.size(), PROT_NONE); });
  for (uint32_t i = run.first; i < run.end(); ++i) {
    refused_count_ += !is_refused_[i];
    is_refused_[i] = true;
  }
  Wake(run);
}

void UserfaultView::Wake(paging::Run run) {
  uffdio_range range = RangeOf(BytesOf(run));
  ioctl(file_.get(), UFFDIO_WAKE, &range);
}

// Threads whose fault did not fit in faults_ are woken to fault again, but only when the list is
// empty: otherwise they would fault in a loop.
size_t UserfaultView::TakeFaults(std::span<CpuFault> faults) {
  Listen();
  const size_t count = std::min(heard_, faults.size());
  std::copy_n(faults_.begin(), count, faults.begin());
  std::copy(faults_.begin() + count, faults_.begin() + heard_, faults_.begin());
  heard_ -= count;
  if (heard_ == 0 && std::exchange(forgot_some_, false)) Wake(All());
  return count;
}

// Protects the memory before it is unregistered, so that a waiting thread never sees the contents
// of the file. Unregisters by range rather than by closing: a forked child may have the file open,
// too.
void UserfaultView::Stop() {
  if (has_stopped_) return;
  has_stopped_ = true;
  const auto let_go = [this](std::span<std::byte> bytes) { Unwatch(file_, RangeOf(bytes)); };
  if (aside_ != nullptr) {
    let_go({aside_, bytes_.size()});
  } else {
    ForEachLeft(All(), [&](std::span<std::byte> bytes) {
      mprotect(bytes.data(), bytes.size(), PROT_NONE);
      let_go(bytes);
    });
  }
  Wake(All());
}

// Reads all pending events. Also called after EAGAIN: as long as events about mappings are unread,
// the kernel refuses requests.
void UserfaultView::Listen() {
  std::array<uffd_msg, 32> messages;
  ssize_t length = 0;
  do {
    length = read(file_.get(), messages.data(), sizeof messages);
    const size_t count = length > 0 ? static_cast<size_t>(length) / sizeof messages[0] : 0;
    for (const uffd_msg& message : std::span(messages).first(count)) Hear(message);
  } while (length == sizeof messages || (length < 0 && errno == EINTR));
}

void UserfaultView::Hear(const uffd_msg& message) {
  switch (message.event) {
    case UFFD_EVENT_PAGEFAULT:
      return HearFault(message.arg.pagefault.address,
                       (message.arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WRITE) != 0);
    case UFFD_EVENT_REMAP:
      return HearMoved(message.arg.remap.from, message.arg.remap.to, message.arg.remap.len);
    case UFFD_EVENT_UNMAP:
      return HearGone(message.arg.remove.start, message.arg.remove.end);
    default:
      return;
  }
}

void UserfaultView::HearFault(uint64_t address, bool is_write) {
  const uint64_t offset = address - reinterpret_cast<uintptr_t>(bytes_.data());
  CHECK(offset < bytes_.size() || may_be_given_up_);
  if (offset >= bytes_.size()) return;
  const auto granule = static_cast<uint32_t>(offset >> granule_.value());
  if (heard_ == faults_.size()) {
    forgot_some_ = true;
    return;
  }
  faults_[heard_++] = {.granule = granule, .is_write = is_write};
}

// The memory was moved to its place, or the program has moved it elsewhere. No pager serves the
// program's new addresses: an access there must fail rather than find zeros.
void UserfaultView::HearMoved(uint64_t from, uint64_t to, uint64_t length) {
  if (aside_ != nullptr && from == reinterpret_cast<uintptr_t>(aside_)) {
    aside_ = nullptr;
    return;
  }
  mprotect(reinterpret_cast<void*>(to), length, PROT_NONE);
  Unwatch(file_, {.start = to, .len = length});
  HearGone(from, from + length);
}

void UserfaultView::HearGone(uint64_t first, uint64_t end) {
  const auto begin = reinterpret_cast<uintptr_t>(bytes_.data());
  const uint64_t from = std::max<uint64_t>(first, begin) - begin;
  const uint64_t to = std::min<uint64_t>(end, begin + bytes_.size());
  if (aside_ != nullptr || to <= begin + from) return;
  // A granule is gone as soon as a part of it is.
  const auto last = static_cast<uint32_t>((to - begin - 1) >> granule_.value());
  for (auto i = static_cast<uint32_t>(from >> granule_.value()); i <= last; ++i) {
    if (is_gone_[i].exchange(true)) continue;
    const uint32_t low = gone_ ? std::min(gone_->first, i) : i;
    const uint64_t high = gone_ ? std::max(gone_->end(), uint64_t{i} + 1) : uint64_t{i} + 1;
    gone_ = paging::Run{low, static_cast<uint32_t>(high - low)};
  }
}

template <class Fn>
void UserfaultView::ForEachLeft(paging::Run run, Fn fn) const {
  if (!may_be_given_up_) return fn(BytesOf(run));
  for (uint32_t i = run.first; i < run.end();) {
    uint32_t end = i;
    while (end < run.end() && !IsGone(end)) ++end;
    if (end > i) fn(BytesOf({i, end - i}));
    i = end + 1;
  }
}

std::span<std::byte> UserfaultView::BytesOf(paging::Run run) const {
  return bytes_.subspan(uint64_t{run.first} * granule_.bytes(), run.count * granule_.bytes());
}

// Makes refused granules accessible again.
void UserfaultView::Admit(paging::Run run) {
  if (refused_count_ == 0) return;
  for (uint32_t i = run.first; i < run.end(); ++i) {
    if (!is_refused_[i]) continue;
    ForEachLeft({i, 1}, [](std::span<std::byte> bytes) {
      mprotect(bytes.data(), bytes.size(), PROT_READ | PROT_WRITE);
    });
    is_refused_[i] = false;
    --refused_count_;
  }
}

// Maps the pages. True if all of them were absent, in which case the waiting threads were woken.
bool UserfaultView::Show(std::span<std::byte> bytes, bool is_writable) {
  bool were_absent = true;
  while (!bytes.empty()) {
    uffdio_continue request{
        .range = RangeOf(bytes), .mode = is_writable ? 0 : UFFDIO_CONTINUE_MODE_WP, .mapped = 0};
    if (ioctl(file_.get(), UFFDIO_CONTINUE, &request) == 0) return were_absent;
    if (errno == EAGAIN) {
      // Only a part was mapped, or the program is changing its mappings.
      if (request.mapped > 0) bytes = bytes.subspan(static_cast<size_t>(request.mapped));
      if (may_be_given_up_) Listen();
    } else if (errno == EEXIST) {
      were_absent = false;
      bytes = bytes.subspan(kPageBytes);
    } else if (errno == EFAULT) {
      if (!FillHole(bytes.data())) return false;
    } else {
      return false;  // the program has unmapped it, or is exiting
    }
  }
  return were_absent;
}

void UserfaultView::Protect(std::span<std::byte> bytes, bool is_writable) {
  uffdio_writeprotect request{.range = RangeOf(bytes),
                              .mode = is_writable ? 0 : UFFDIO_WRITEPROTECT_MODE_WP};
  while (ioctl(file_.get(), UFFDIO_WRITEPROTECT, &request) != 0 && errno == EAGAIN) {
    if (may_be_given_up_) Listen();
  }
}

// The program has punched a hole into the file by MADV_REMOVE and expects zeros there.
bool UserfaultView::FillHole(std::byte* page) {
  uffdio_zeropage request{
      .range = RangeOf({page, kPageBytes}), .mode = UFFDIO_ZEROPAGE_MODE_DONTWAKE, .zeropage = 0};
  while (ioctl(file_.get(), UFFDIO_ZEROPAGE, &request) != 0) {
    if (errno != EAGAIN) return errno == EEXIST;
    if (may_be_given_up_) Listen();
  }
  return true;
}

}  // namespace verbena::managed
