#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/event_file.h"
#include "base/file_descriptor.h"
#include "host/guest_memory.h"
#include "memory/spaces/current_io_page.h"

namespace verbena::host {

// A guest's memory without an adapter: one memory file, of which Touch puts a part into memory, and
// one region on it. Obeys, unless told otherwise. Any thread.
class FakeGuestMemory final : public GuestMemory {
 public:
  static constexpr RegionNumber kRegion{7};

  explicit FakeGuestMemory(uint64_t bytes)
      : bytes_(bytes), file_(memfd_create("guest", MFD_CLOEXEC)) {
    static_cast<void>(ftruncate(file_.get(), static_cast<off_t>(bytes)));
  }

  // The guest uses so many bytes from now on, as far as its budget goes.
  void Touch(uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    wanted_ = bytes;
    ++faults_;
    Fill();
  }
  void Disobey() {
    const std::lock_guard lock(mutex_);
    obeys_ = false;
  }
  // An access waits for the region, if it is out.
  void WantRegion() {
    const std::lock_guard lock(mutex_);
    if (is_out_) Emit({Event::Kind::kInterest, kRegion});
  }
  [[nodiscard]] uint64_t budget() {
    const std::lock_guard lock(mutex_);
    return budget_;
  }
  // What was quiesced last.
  [[nodiscard]] RegionPart part() {
    const std::lock_guard lock(mutex_);
    return part_;
  }
  // The region has a current-I/O word; before the agent starts.
  [[nodiscard]] memory::CurrentIo CountOperations() {
    word_ = 3;
    return memory::CurrentIo(words_.word(word_ - 1));
  }
  [[nodiscard]] bool is_out() {
    const std::lock_guard lock(mutex_);
    return is_out_;
  }
  [[nodiscard]] uint64_t resident() const {
    struct stat status {};
    fstat(file_.get(), &status);
    return static_cast<uint64_t>(status.st_blocks) * 512;
  }

  ErrorOr<void> SetBudget(uint64_t bytes) override {
    const std::lock_guard lock(mutex_);
    budget_ = bytes;
    if (obeys_) Fill();
    return {};
  }
  Use QueryUse() override {
    const std::lock_guard lock(mutex_);
    if (wanted_ > budget_ && !is_out_) ++faults_;
    return {.use = {.faults = faults_, .activity = faults_}, .resident = resident(), .swapped = 0};
  }
  std::vector<File> Files() override { return {{.number = 1, .fd = file_.get(), .bytes = bytes_}}; }
  std::vector<Region> Regions() override {
    const std::lock_guard lock(mutex_);
    return {{.number = kRegion, .bytes = bytes_, .out = is_out_ ? bytes_ : 0, .word = word_}};
  }
  int WordsFile() override { return words_.fd(); }
  void Quiesce(RegionNumber region, RegionPart part, bool /*force*/) override {
    const std::lock_guard lock(mutex_);
    if (!obeys_) return;
    part_ = part;
    is_out_ = true;
    Fill();
    Emit({Event::Kind::kQuiesced, region});
  }
  void Resume(RegionNumber) override {
    const std::lock_guard lock(mutex_);
    is_out_ = false;
    Fill();
  }
  [[nodiscard]] int event_fd() const override { return signal_.fd(); }
  std::vector<Event> TakeEvents() override {
    const std::lock_guard lock(mutex_);
    static_cast<void>(signal_.TryWait());
    return std::exchange(events_, {});
  }

 private:
  void Fill() {
    const uint64_t room = obeys_ ? budget_ : bytes_;
    const uint64_t held = is_out_ ? 0 : std::min({wanted_, room, bytes_}) / 4096 * 4096;
    if (held > 0) static_cast<void>(fallocate(file_.get(), 0, 0, static_cast<off_t>(held)));
    if (held == bytes_) return;
    static_cast<void>(fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                static_cast<off_t>(held), static_cast<off_t>(bytes_ - held)));
  }
  void Emit(Event event) {
    events_.push_back(event);
    signal_.Signal();
  }

  const uint64_t bytes_;
  const FileDescriptor file_;
  const EventFile signal_ = *EventFile::Open(false);
  std::mutex mutex_;
  uint64_t wanted_ = 0;
  uint64_t budget_ = 0;
  uint64_t faults_ = 0;
  bool obeys_ = true;
  bool is_out_ = false;
  RegionPart part_;
  memory::CurrentIoPage words_ = std::move(*memory::CurrentIoPage::Create());
  uint32_t word_ = 0;
  std::vector<Event> events_;
};

}  // namespace verbena::host
