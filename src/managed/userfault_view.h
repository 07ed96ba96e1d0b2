#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/file_descriptor.h"
#include "base/lazy_array.h"
#include "base/page.h"
#include "managed/cpu_view.h"

namespace verbena::managed {

// The program's view by userfaultfd: the kernel holds a faulting thread up and tells us. Unmapping
// clears page-table entries and leaves the file alone; mapping puts the file's pages into them,
// write-protected or not. The view stays one mapping however it is cut up.
//
// Three doors lead to a userfaultfd, and method() says which was open. Through the first two,
// system calls that touch absent memory wait like any access. Through the third, which is what
// ordinary users get on most systems, only the program's own instructions wait, and a system call
// gets EFAULT; programs must touch what they hand to one.
class UserfaultView final : public CpuView {
 public:
  [[nodiscard]] static ErrorOr<std::unique_ptr<CpuView>> Make(std::span<std::byte> bytes,
                                                              PageShift granule);
  ~UserfaultView() override { Stop(); }

  void Unmap(paging::Run run) override;
  void Map(paging::Run run, bool is_writable) override;
  void Refuse(paging::Run run) override;
  void Wake(paging::Run run) override;
  [[nodiscard]] size_t TakeFaults(std::span<CpuFault> faults) override;
  [[nodiscard]] int fd() const override { return file_.get(); }
  void Stop() override;
  [[nodiscard]] const char* method() const override { return method_; }

 private:
  struct Door {
    FileDescriptor file;
    const char* method;
  };
  // Empty if no door is open.
  [[nodiscard]] static Door Open();

  UserfaultView(Door door, std::span<std::byte> bytes, PageShift granule)
      : file_(std::move(door.file)),
        method_(door.method),
        bytes_(bytes),
        granule_(granule),
        is_refused_(bytes.size() >> granule.value()) {}

  [[nodiscard]] std::span<std::byte> BytesOf(paging::Run run) const;
  void Admit(paging::Run run);
  [[nodiscard]] bool Show(std::span<std::byte> bytes, bool is_writable) const;
  void Protect(std::span<std::byte> bytes, bool is_writable) const;
  [[nodiscard]] bool FillHole(std::byte* page) const;

  const FileDescriptor file_;
  const char* const method_;
  const std::span<std::byte> bytes_;
  const PageShift granule_;
  LazyArray<bool> is_refused_;  // and so not accessible as far as the kernel knows
  uint32_t refused_count_ = 0;
  bool has_stopped_ = false;
};

}  // namespace verbena::managed
