#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/file_descriptor.h"
#include "base/lazy_array.h"
#include "base/page.h"
#include "managed/cpu_view.h"
#include "managed/uffd_source.h"

namespace verbena::managed {

// The program's view by userfaultfd: the kernel suspends a faulting thread and reports the fault.
// Unmapping clears page-table entries and leaves the file alone; mapping puts the file's pages into
// them, write-protected or not. The view stays one mapping however it is cut up.
//
// method() names the source that was available: see UffdSource. If that source does not serve
// faults in system calls, programs must touch memory before they hand it to a system call.
//
// The program can unmap or move the addresses of a view from MakeAside, because they were the
// program's before. The view gets events of that, and never touches by address what is gone:
// another owner may have memory there. The thread that unmaps or moves waits until the pager has
// read the event.
class UserfaultView final : public CpuView {
 public:
  [[nodiscard]] static ErrorOr<std::unique_ptr<CpuView>> Make(std::span<std::byte> bytes,
                                                              PageShift granule);
  // A view of memory that is mapped at `aside`, and that the caller moves to `place` by mremap
  // before any thread touches it. Only with a source that serves faults in system calls.
  [[nodiscard]] static ErrorOr<std::unique_ptr<CpuView>> MakeAside(std::span<std::byte> aside,
                                                                   std::byte* place,
                                                                   PageShift granule);
  ~UserfaultView() override { Stop(); }

  void Unmap(paging::Run run) override;
  void Map(paging::Run run, bool is_writable) override;
  void Refuse(paging::Run run) override;
  void Wake(paging::Run run) override;
  [[nodiscard]] size_t TakeFaults(std::span<CpuFault> faults) override;
  [[nodiscard]] bool has_heard() const override { return heard_ > 0 || gone_.has_value(); }
  [[nodiscard]] std::optional<paging::Run> TakeGone() override {
    return std::exchange(gone_, std::nullopt);
  }
  [[nodiscard]] bool IsGone(uint32_t granule) const override {
    return is_gone_[granule].load(std::memory_order_acquire);
  }
  [[nodiscard]] int fd() const override { return file_.get(); }
  void Stop() override;
  [[nodiscard]] const char* method() const override { return method_; }

 private:
  // `aside` is where the memory is until it moves to its place; nullptr if it is there.
  UserfaultView(UffdSource source, std::span<std::byte> bytes, std::byte* aside, PageShift granule)
      : file_(std::move(source.file)),
        method_(source.method),
        bytes_(bytes),
        granule_(granule),
        aside_(aside),
        may_be_given_up_(aside != nullptr),
        is_refused_(bytes.size() >> granule.value()),
        is_gone_(bytes.size() >> granule.value()) {}

  [[nodiscard]] std::span<std::byte> BytesOf(paging::Run run) const;
  [[nodiscard]] paging::Run All() const {
    return {0, static_cast<uint32_t>(bytes_.size() >> granule_.value())};
  }
  // Calls fn(bytes) for each piece of the run that is not gone.
  template <class Fn>
  void ForEachLeft(paging::Run run, Fn fn) const;
  void Admit(paging::Run run);
  [[nodiscard]] bool Show(std::span<std::byte> bytes, bool is_writable);
  void Protect(std::span<std::byte> bytes, bool is_writable);
  [[nodiscard]] bool FillHole(std::byte* page);

  void Listen();
  void Hear(const uffd_msg& message);
  void HearFault(uint64_t address, bool is_write);
  void HearMoved(uint64_t from, uint64_t to, uint64_t length);
  void HearGone(uint64_t first, uint64_t end);

  const FileDescriptor file_;
  const char* const method_;
  const std::span<std::byte> bytes_;
  const PageShift granule_;
  std::byte* aside_;  // nullptr once the memory is in its place
  const bool may_be_given_up_;
  LazyArray<bool> is_refused_;  // and therefore PROT_NONE
  uint32_t refused_count_ = 0;
  LazyArray<std::atomic<bool>> is_gone_;  // read by any thread
  std::optional<paging::Run> gone_;       // covers all that are gone since TakeGone
  std::array<CpuFault, 64> faults_;       // the first heard_ are read and not taken
  size_t heard_ = 0;
  bool forgot_some_ = false;  // faults did not fit in faults_
  bool has_stopped_ = false;
};

}  // namespace verbena::managed
