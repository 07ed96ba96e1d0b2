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

// The program's view by userfaultfd: the kernel holds a faulting thread up and tells us. Unmapping
// clears page-table entries and leaves the file alone; mapping puts the file's pages into them,
// write-protected or not. The view stays one mapping however it is cut up.
//
// method() says which door was open: see UffdSource. Programs must touch what they hand to a
// system call, if it does not serve those.
//
// A view that was made aside is of addresses that the program may unmap or move, because they were
// its own before. It hears of that, and never touches by address what is gone: another owner may
// have memory there by now. The thread that gave it up waits until the pager has read the news.
class UserfaultView final : public CpuView {
 public:
  [[nodiscard]] static ErrorOr<std::unique_ptr<CpuView>> Make(std::span<std::byte> bytes,
                                                              PageShift granule);
  // Of memory that is mapped at `aside` for now, and that the caller moves to `place` by mremap
  // before any thread touches it. Only where system calls wait, too.
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
  // Where the memory is as long as it is not in its place.
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
  std::byte* aside_;  // nullptr once it is in its place
  const bool may_be_given_up_;
  LazyArray<bool> is_refused_;  // and so not accessible as far as the kernel knows
  uint32_t refused_count_ = 0;
  LazyArray<std::atomic<bool>> is_gone_;  // any thread may ask
  std::optional<paging::Run> gone_;       // all that went since it was taken, and what is between
  std::array<CpuFault, 64> faults_;       // heard and not taken: the first heard_
  size_t heard_ = 0;
  bool forgot_some_ = false;  // of more faults than there is room for
  bool has_stopped_ = false;
};

}  // namespace verbena::managed
