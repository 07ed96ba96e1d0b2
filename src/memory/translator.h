#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "memory/access.h"
#include "memory/address.h"
#include "memory/guest_table.h"
#include "memory/protection_domain.h"
#include "memory/protection_table.h"
#include "memory/translation.h"

namespace verbena::memory {

// The one door: every byte that the adapter touches, local or remote, goes through Translate.
//
// It changes nothing, so that it may be asked again at will, and it knows nothing of queue pairs,
// packets or time. REQUIRES: nobody changes the tables meanwhile.
class Translator {
 public:
  Translator(const ProtectionTable& table, const ProtectionDomains& domains,
             const GuestTable& guests, bool remote_through_regions)
      : table_(table),
        domains_(domains),
        guests_(guests),
        remote_through_regions_(remote_through_regions) {}

  // May `who` do this, and where are the bytes? The checks are made in the documents' order, a to
  // g, and the first that fails is the answer. An access of no bytes is ready at once, whatever the
  // key: the InfiniBand and iWARP specifications both say that a key is not looked at when it moves
  // nothing.
  Translation Translate(Key key, KeyAddress address, uint64_t length, Access access,
                        const Accessor& who) const;

  // The same in brief, for the common case: granted, and in one present page of the host. Where
  // it is not there, Translate knows why.
  struct InOnePage {
    MachineAddress at;
    bool is_there = false;
    KeyUse use = KeyUse::kMany;
  };
  [[nodiscard]] InOnePage FindInOnePage(Key key, KeyAddress address, uint64_t length, Access access,
                                        const Accessor& who) const;

  // What an access may touch: bytes from `offset` of a region's or task's memory.
  struct Grant {
    const ProtectionEntry* target = nullptr;
    SlotNumber slot;  // of the target
    uint64_t offset = 0;
    KeyUse use = KeyUse::kMany;
  };

  // The checks alone, for a whole message of any length. REQUIRES: length > 0.
  Result<Grant, Denial> Authorize(Key key, KeyAddress address, uint64_t length, Access access,
                                  const Accessor& who) const;

 private:
  template <bool common_only>
  std::optional<Denial> Check(Key key, KeyAddress address, uint64_t length, Access access,
                              const Accessor& who, Grant& grant) const;
  [[gnu::noinline]] Translation TranslateInFull(Key key, KeyAddress address, uint64_t length,
                                                Access access, const Accessor& who) const;

  const ProtectionTable& table_;
  const ProtectionDomains& domains_;
  const GuestTable& guests_;
  const bool remote_through_regions_;
};

}  // namespace verbena::memory
