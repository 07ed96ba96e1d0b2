#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "verbena/access.h"
#include "verbena/advice.h"
#include "verbena/current_io.h"
#include "verbena/error.h"
#include "verbena/handle.h"
#include "verbena/numbers.h"
#include "verbena/protection_domain.h"
#include "verbena/work_request.h"

namespace verbena {

namespace verbs {
struct RegionObject;
}

// Less common properties of a region.
struct RegionOptions {
  // The address of its first byte for users of the key, if it differs from the address in memory.
  // With zero_based, peers use offsets from 0.
  std::optional<uint64_t> start = {};
  bool zero_based = false;
  bool one_touch = false;      // its R_Key is valid for one message of a peer
  bool distinct_keys = false;  // L_Key and R_Key differ
  // The bytes need not be mapped with these rights before they are used; an access before that
  // fails. Otherwise registration checks the mappings.
  bool on_demand = false;
  // The program counts its operations on the region, and thereby promises to start none while the
  // host wants the memory: see RegionIo.
  bool current_io = false;
  // While the host has taken the memory away, accesses are refused (check a, validity). Otherwise
  // they wait until it is back.
  bool refuses_when_out = false;
};

// A change of a registration. Members that are not set stay as they are.
struct RegionChange {
  const ProtectionDomain* domain = nullptr;
  std::optional<std::span<std::byte>> bytes = {};
  std::optional<Access> access = {};
  bool keep_keys = false;  // peers can continue to use them; not for a one-touch region
};

// Pages anywhere in this process, for regions that are not contiguous.
struct PageList {
  std::span<const uint64_t> pages = {};  // their addresses, aligned to the page size
  uint64_t first_offset = 0;             // offset of the first byte in the first page
  uint8_t page_shift = 12;
};

// Registered memory. Registration takes microseconds at any size: no page is touched or pinned, and
// the program may unmap the memory at any time, after which accesses fail. Memory that is not
// mapped, or not writable for a region that allows writes, is refused with kSystem and EFAULT.
//
// When the handle is destroyed, windows bound to the region are invalidated; Destroy refuses
// instead.
class MemoryRegion : public Handle<verbs::RegionObject> {
 public:
  [[nodiscard]] static ErrorOr<MemoryRegion> Register(const ProtectionDomain& domain,
                                                      std::span<std::byte> bytes, Access access,
                                                      const RegionOptions& options = {});
  // All memory that the process has, now and later.
  [[nodiscard]] static ErrorOr<MemoryRegion> RegisterEverything(const ProtectionDomain& domain,
                                                                Access access);
  [[nodiscard]] static ErrorOr<MemoryRegion> RegisterPages(const ProtectionDomain& domain,
                                                           const PageList& pages, uint64_t length,
                                                           Access access,
                                                           const RegionOptions& options = {});
  // The bytes of another region, with other rights; both share the translation.
  [[nodiscard]] static ErrorOr<MemoryRegion> Share(const ProtectionDomain& domain,
                                                   const MemoryRegion& with, Access access,
                                                   const RegionOptions& options = {});
  // Keys for a region of up to `pages_max` pages that work requests define: see Register in
  // work_request.h. Until then it grants nothing.
  [[nodiscard]] static ErrorOr<MemoryRegion> Reserve(const ProtectionDomain& domain,
                                                     uint32_t pages_max, uint8_t page_shift = 12);
  // All addresses, without memory: bytes sent from it are zeros, bytes received into it are
  // discarded. For work requests of this program only: it has no R_Key.
  [[nodiscard]] static ErrorOr<MemoryRegion> RegisterNull(const ProtectionDomain& domain);
  MemoryRegion() = default;

  // Both keys change, unless `keep_keys` is set, so no thread may use the handle during the call.
  // REFUSES while windows are bound to it.
  [[nodiscard]] ErrorOr<void> Reregister(const RegionChange& change);
  // REFUSES while windows are bound to it.
  [[nodiscard]] ErrorOr<void> Destroy();

  // Pages in these ranges before they are needed; with `wait`, returns when they are present.
  // REFUSES ranges outside the region, and kPrefetchWrite on a region without kLocalWrite; fails
  // with kInvalid if `wait` is set and a page cannot be paged in.
  [[nodiscard]] ErrorOr<void> Advise(std::span<const Range> ranges, Advice advice, bool wait) const;
  [[nodiscard]] ErrorOr<void> Advise(uint64_t offset, uint64_t length, Advice advice,
                                     bool wait) const;

  // Its count of operations; empty unless it was registered with `current_io`. Valid as long as the
  // region.
  [[nodiscard]] RegionIo current_io() const;

  [[nodiscard]] Key l_key() const;
  [[nodiscard]] Key r_key() const;
  // The address of the first byte for users of the key, and the number of bytes.
  [[nodiscard]] uint64_t start() const;
  [[nodiscard]] uint64_t length() const;

  // Some of its bytes, for a work request of this program or of the peer. Not checked here: the
  // adapter checks each access.
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
