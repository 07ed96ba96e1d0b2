#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "verbena/access.h"
#include "verbena/advice.h"
#include "verbena/error.h"
#include "verbena/handle.h"
#include "verbena/numbers.h"
#include "verbena/protection_domain.h"
#include "verbena/work_request.h"

namespace verbena {

namespace verbs {
struct RegionObject;
}

// What is special about a region.
struct RegionOptions {
  // The address of its first byte beside the key, if that is not where it lies. 0 and zero_based:
  // peers count from 0.
  std::optional<uint64_t> start = {};
  bool zero_based = false;
  bool one_touch = false;      // its R_Key ends with the first message of a peer that used it
  bool distinct_keys = false;  // L_Key and R_Key differ
  // The bytes need not be mapped, or not with these rights, before they are used: an access that
  // comes earlier fails. Otherwise registration looks at the mappings.
  bool on_demand = false;
};

// A registration that changes: what is set, and the rest stays.
struct RegionChange {
  const ProtectionDomain* domain = nullptr;
  std::optional<std::span<std::byte>> bytes = {};
  std::optional<Access> access = {};
  bool keep_keys = false;  // peers that know them go on; not for a region that is one-touch
};

// Pages anywhere in this process, for regions that are not in one piece.
struct PageList {
  std::span<const uint64_t> pages = {};  // their addresses, each on a border of its size
  uint64_t first_offset = 0;             // where the region begins in the first page
  uint8_t page_shift = 12;
};

// Registered memory. To register takes microseconds at any size: no page is touched or pinned, and
// the program may unmap the memory at any time; accesses fail then. Memory that is not mapped, or
// not writable where the region is to be written, is refused with kSystem and EFAULT.
//
// When it ends, windows that were bound to it end, too; Destroy refuses instead.
class MemoryRegion : public Handle<verbs::RegionObject> {
 public:
  [[nodiscard]] static ErrorOr<MemoryRegion> Register(const ProtectionDomain& domain,
                                                      std::span<std::byte> bytes, Access access,
                                                      const RegionOptions& options = {});
  // All that the process has now and will have.
  [[nodiscard]] static ErrorOr<MemoryRegion> RegisterEverything(const ProtectionDomain& domain,
                                                                Access access);
  [[nodiscard]] static ErrorOr<MemoryRegion> RegisterPages(const ProtectionDomain& domain,
                                                           const PageList& pages, uint64_t length,
                                                           Access access,
                                                           const RegionOptions& options = {});
  // The bytes of another region, with rights of its own; both share the translation.
  [[nodiscard]] static ErrorOr<MemoryRegion> Share(const ProtectionDomain& domain,
                                                   const MemoryRegion& with, Access access,
                                                   const RegionOptions& options = {});
  // Keys for a region of up to so many pages that work requests fill in: see Register in
  // work_request.h. It grants nothing before.
  [[nodiscard]] static ErrorOr<MemoryRegion> Reserve(const ProtectionDomain& domain,
                                                     uint32_t pages_max, uint8_t page_shift = 12);
  // All addresses, with no memory behind them: what is sent from it is zeros, what is received into
  // it vanishes. Good for work requests of ours only: it has no R_Key.
  [[nodiscard]] static ErrorOr<MemoryRegion> RegisterNull(const ProtectionDomain& domain);
  MemoryRegion() = default;

  // Both keys are new then, unless they are to be kept, so no thread may use the handle meanwhile.
  // REFUSES while windows are bound to it.
  [[nodiscard]] ErrorOr<void> Reregister(const RegionChange& change);
  // REFUSES while windows are bound to it.
  [[nodiscard]] ErrorOr<void> Destroy();

  // Brings pages of these ranges before they are needed; with `wait`, returns when they are there.
  // REFUSES ranges outside, and kPrefetchWrite on a region without kLocalWrite; and fails with
  // kInvalid if it waits and a page is not to be had.
  [[nodiscard]] ErrorOr<void> Advise(std::span<const Range> ranges, Advice advice, bool wait) const;
  [[nodiscard]] ErrorOr<void> Advise(uint64_t offset, uint64_t length, Advice advice,
                                     bool wait) const;

  [[nodiscard]] Key l_key() const;
  [[nodiscard]] Key r_key() const;
  // The address of the first byte beside the key, and how many bytes there are.
  [[nodiscard]] uint64_t start() const;
  [[nodiscard]] uint64_t length() const;

  // Some of its bytes, for a work request of ours or of the peer. Not checked here: the adapter
  // checks each access.
  [[nodiscard]] Sge Local(uint64_t offset, uint32_t length) const {
    return {start() + offset, length, l_key()};
  }
  [[nodiscard]] RemoteAddress Remote(uint64_t offset = 0) const {
    return {start() + offset, r_key()};
  }

 private:
  explicit MemoryRegion(std::shared_ptr<verbs::RegionObject> object) : Handle(std::move(object)) {}
};

}  // namespace verbena
