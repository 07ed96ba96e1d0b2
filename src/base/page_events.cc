#include "base/page_events.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/page.h"
#include "base/quiet_thread.h"
#include "base/when_memory.h"

#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#endif
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif

namespace verbena {
namespace {

constexpr int kFlags = O_CLOEXEC | O_NONBLOCK;

int OpenBy(PageEvents::Source source) {
  switch (source) {
    case PageEvents::Source::kDevice: {
      const FileDescriptor device(open("/dev/userfaultfd", O_RDWR | O_CLOEXEC));
      return device.is_open() ? ioctl(device.get(), USERFAULTFD_IOC_NEW, kFlags) : -1;
    }
    case PageEvents::Source::kCall:
      return static_cast<int>(syscall(SYS_userfaultfd, kFlags));
    case PageEvents::Source::kUserModeOnly:
      return static_cast<int>(syscall(SYS_userfaultfd, kFlags | UFFD_USER_MODE_ONLY));
  }
  return -1;
}

// Without UFFD_FEATURE_EVENT_REMAP, memory that is moved is not watched at its new address; the
// kernel reports the move as an unmapping, unless it is a move that leaves the mapping behind
// (MREMAP_DONTUNMAP). With it, the kernel reports the move, and goes on to watch the memory.
bool SetUp(int file, PageEvents::Scope scope) {
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_UNMAP |
                 UFFD_FEATURE_PAGEFAULT_FLAG_WP |
                 (scope == PageEvents::Scope::kAny ? UFFD_FEATURE_WP_HUGETLBFS_SHMEM
                                                   : UFFD_FEATURE_EVENT_REMAP);
  return ioctl(file, UFFDIO_API, &api) == 0;
}

uffdio_range RangeOf(Interval pages) {
  return {.start = pages.first, .len = pages.last - pages.first + 1};
}

}  // namespace

const char* NameOf(PageEvents::Source source) {
  switch (source) {
    case PageEvents::Source::kDevice:
      return "/dev/userfaultfd";
    case PageEvents::Source::kCall:
      return "userfaultfd";
    case PageEvents::Source::kUserModeOnly:
      return "userfaultfd, user mode only";
  }
  return "";
}

std::unique_ptr<PageEvents> PageEvents::Open(Scope scope, std::string& why_not) {
  auto stop = EventFile::Open(false);
  if (!stop) {
    why_not = stop.error().text;
    return nullptr;
  }
  for (const Source source : {Source::kDevice, Source::kCall, Source::kUserModeOnly}) {
    FileDescriptor file(OpenBy(source));
    if (!file.is_open() || !SetUp(file.get(), scope)) {
      why_not = std::strerror(errno);
      continue;
    }
    // Not make_unique: the constructor is private.
    return std::unique_ptr<PageEvents>(
        new PageEvents(std::move(file), source, std::move(*stop), scope));
  }
  return nullptr;
}

PageEvents::PageEvents(FileDescriptor file, Source source, EventFile stop, Scope scope)
    : file_(std::move(file)),
      source_(source),
      stop_(std::move(stop)),
      mappings_(scope == Scope::kPrivate ? std::optional<Mappings>(std::in_place) : std::nullopt) {
  reader_ = StartQuietThread("verbena-events", [this] { Read(); });
}

PageEvents::~PageEvents() {
  // Unregisters explicitly, because a forked child may have the file open, too: closing it would
  // then leave a thread that gives pages up waiting forever. The reader still runs, because such a
  // thread may be waiting at this moment.
  {
    const MutexLock lock(mutex_);
    watched_.ForEachOverlap(
        {0, ~uint64_t{0}}, [&](const IntervalMap<bool>::Entry& entry) { Unwatch(entry.interval); });
  }
  stop_.Signal();
  reader_.join();
}

// The kernel refuses a range in which other memory has been mapped since. Then each half is tried.
void PageEvents::Unwatch(Interval range) const {
  uffdio_range all = RangeOf(range);
  if (ioctl(file_.get(), UFFDIO_UNREGISTER, &all) == 0 || all.len <= kBasePage.bytes()) return;
  const uint64_t middle = RoundDown(range.first + all.len / 2, kBasePage);
  Unwatch({range.first, middle - 1});
  Unwatch({middle, range.last});
}

bool PageEvents::Watch(uint64_t address, uint64_t length) {
  if (length == 0) return true;
  const Interval pages = CoveringPages(address, length);
  const MutexLock lock(mutex_);
  // Registers the range each time, because other memory may have been mapped there since. If not,
  // the call takes a microsecond.
  uffdio_register wanted{};
  wanted.range = RangeOf(pages);
  wanted.mode = UFFDIO_REGISTER_MODE_WP;
  if (ioctl(file_.get(), UFFDIO_REGISTER, &wanted) != 0) return false;
  // The kernel registers shared memory, too. After the registration, so that no other memory can be
  // mapped there in between without a report.
  if (mappings_ && !mappings_->IsPrivate(address, length)) {
    Unwatch(pages);
    return false;
  }
  const bool is_noted =
      WhenMemory([&]() VERBENA_UNDER_CALLERS_LOCK { watched_.Assign(pages, true); });
  if (!is_noted) Unwatch(pages);
  return is_noted;
}

// The kernel counts changes from before they take effect until their events are read, and refuses
// to write-protect meanwhile (EAGAIN), which it checks first. The range is none, so that nothing
// else can come of the call.
bool PageEvents::IsPending() const {
  uffdio_writeprotect none{};
  none.range = {.start = 1, .len = 1};
  return ioctl(file_.get(), UFFDIO_WRITEPROTECT, &none) != 0 && errno == EAGAIN;
}

void PageEvents::Read() {
  std::array<pollfd, 2> files{{{.fd = file_.get(), .events = POLLIN, .revents = 0},
                               {.fd = stop_.fd(), .events = POLLIN, .revents = 0}}};
  while (true) {
    if (poll(files.data(), files.size(), -1) < 0 && errno != EINTR) return;
    if (files[1].revents != 0) return;
    ReadAll();
  }
}

void PageEvents::ReadAll() {
  while (ReadOne()) {
  }
}

// The thread that waits for an event goes on as soon as the kernel has copied it, which may be
// before read returns here. So the listeners know before that an event is on its way.
bool PageEvents::ReadOne() {
  reading_.fetch_add(1, std::memory_order_seq_cst);
  std::array<MemoryListener*, kListenersMax> listeners;
  for (size_t i = 0; i < kListenersMax; ++i) {
    listeners[i] = listeners_[i].load(std::memory_order_seq_cst);
    if (listeners[i] != nullptr) listeners[i]->OnReading();
  }
  uffd_msg message;
  const bool is_read = read(file_.get(), &message, sizeof message) == sizeof message;
  uint64_t first = 0, end = 0;
  if (is_read && (message.event == UFFD_EVENT_REMOVE || message.event == UFFD_EVENT_UNMAP)) {
    first = message.arg.remove.start;
    end = message.arg.remove.end;
  } else if (is_read && message.event == UFFD_EVENT_REMAP) {
    first = message.arg.remap.from;
    end = message.arg.remap.from + message.arg.remap.len;
  }
  if (end > first && !ring_.Push({first, end - 1})) has_overflown_.store(true);
  for (MemoryListener* const listener : listeners) {
    if (listener == nullptr) continue;
    if (end > first) listener->OnGivenUp(first, end - 1);
    listener->OnRead();
  }
  reading_.fetch_sub(1, std::memory_order_seq_cst);
  return is_read;
}

// A reader loads the listeners after it has counted itself, and the caller has changed them before
// it looks: either the reader has seen the change, or the caller sees that it reads.
void PageEvents::WaitForReaders() const {
  while (reading_.load(std::memory_order_seq_cst) != 0) sched_yield();
}

bool PageEvents::Add(MemoryListener& listener) {
  for (std::atomic<MemoryListener*>& place : listeners_) {
    MemoryListener* none = nullptr;
    if (!place.compare_exchange_strong(none, &listener)) continue;
    WaitForReaders();
    return true;
  }
  return false;
}

void PageEvents::Remove(MemoryListener& listener) {
  for (std::atomic<MemoryListener*>& place : listeners_) {
    MemoryListener* expected = &listener;
    place.compare_exchange_strong(expected, nullptr);
  }
  WaitForReaders();
}

}  // namespace verbena
