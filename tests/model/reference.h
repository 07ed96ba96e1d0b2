#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "memory/options.h"
#include "memory/protection/iscsi_tasks.h"
#include "memory/protection/one_touch.h"
#include "memory/protection/protection_entry.h"
#include "memory/protection/regions.h"
#include "memory/protection/translation.h"
#include "memory/protection/windows.h"
#include "model/address_spaces.h"
#include "model/key_checker.h"

namespace verbena::memory::model {

// A region, window or task.
struct Entry {
  EntryType type = EntryType::kRegion;
  EntryState state = EntryState::kReserved;
  Key local, remote;  // the current keys
  PdId pd;
  uint64_t start = 0, length = 0;
  Access rights;
  bool one_touch = false;
  bool touched = false;
  StreamNumber touched_at;
  bool by_work_request = false;
  bool was_valid = false;  // with its current keys

  // The pages of a region or task; null if it uses the owner's tables or has none.
  std::shared_ptr<PageSet> pages;
  GuestKey guest;  // whose physical addresses the pages have
  bool of_address_space = false;
  uint64_t first_offset = 0;
  AddressKind address_kind = AddressKind::kEffective;

  WindowType window_type = WindowType::k1;
  Entry* region = nullptr;  // of a bound window
  uint64_t offset = 0;      // of a bound window in its region
  QpNumber qp;

  uint64_t command = 0;
  bool command_reads = false;
};

// The expected result of an access; the alternatives are those of Translation.
struct ExpectedReady {};
struct Outcome {
  std::variant<ExpectedReady, Fault, Refusal> answer;
  std::vector<uint64_t> bytes;  // if ready: the machine address of each byte
};

// The rules of the memory core implemented a second time, as simply as possible: a list of entries
// that is searched linearly, and accesses that are translated byte by byte. It has no slots, trees,
// reverse maps or leaves.
//
// Each call returns the expected result of the core and, if that is a success, changes the
// reference accordingly. New ids and keys, which cannot be predicted, are taken from the result of
// the core and checked against the rules; `key_error` describes a violation.
class Reference {
 public:
  Reference(const MemoryOptions& options, uint64_t inverted_base, uint64_t inverted_frames)
      : spaces(options, inverted_base, inverted_frames),
        keys(options.key_slots_max, options.key_quarantine),
        remote_through_regions_(options.remote_through_regions) {}

  using NewKeys = std::optional<RegionKeys>;

  // regions
  Verdict<MemoryError> Register(const RegionSpec& spec, const Backing& backing, NewKeys made);
  Verdict<MemoryError> Reregister(Key key, const RegionSpec& spec,
                                  const std::optional<Backing>& backing, NewKeys made);
  Verdict<MemoryError> Deregister(Key key);
  Verdict<MemoryError> Reserve(PdId pd, uint64_t pages_max, PageShift shift, NewKeys made);
  Verdict<Refusal> RegisterReserved(Key key, const RegionSpec& spec, const PageListBacking& list,
                                    const Accessor& who, NewKeys made);
  Verdict<Refusal> Invalidate(Key key, Origin origin, const Accessor& who);
  Verdict<MemoryError> SwapOut(Key key);
  Verdict<MemoryError> SwapIn(Key key);
  Verdict<MemoryError> MapPages(Key key, uint64_t first, uint64_t count,
                                std::optional<uint64_t> where, bool writable);
  Verdict<MemoryError> UnmapPages(Key key, uint64_t first, uint64_t count);

  // windows and tasks
  Verdict<MemoryError> AllocateWindow(PdId pd, WindowType type, std::optional<Key> made);
  Verdict<MemoryError> DeallocateWindow(Key key);
  Verdict<Refusal> Bind(Key window, const WindowBinding& binding, const Accessor& who,
                        std::optional<Key> made);
  Verdict<MemoryError> BeginTask(const TaskSpec& spec, const PageListBacking& list,
                                 std::optional<Key> made);
  Verdict<Refusal> EndTask(Key key, const Accessor& who);

  // one-touch
  Result<TouchAction, Refusal> Touch(Key key, const StreamSegment& segment,
                                     const StreamPosition& stream, QpNumber qp);
  void StreamAdvanced(QpNumber qp, StreamNumber next_expected);
  void StreamEnded(QpNumber qp);

  // access
  Outcome Translate(Key key, uint64_t address, uint64_t length, AccessKind access,
                    const Accessor& who) const;

  bool DomainInUse(PdId pd) const;
  bool HasWindows(const Entry& region) const;
  const std::vector<std::unique_ptr<Entry>>& entries() const { return entries_; }
  uint64_t remembered_count() const { return remembered_.size(); }
  const std::string& key_error() const { return keys.error(); }

  AddressSpaces spaces;
  KeyChecker keys;

 private:
  struct Remembered {
    QpNumber qp;
    Key key;
    StreamNumber last_byte;
  };

  Entry* Find(KeyIndex index) const;
  Result<Entry*, MemoryError> FindLive(Key key, EntryType type) const;
  Verdict<MemoryError> CheckSpec(const RegionSpec& spec) const;
  Verdict<MemoryError> CheckOwner(const RegionSpec& spec, const Backing& backing) const;
  Verdict<MemoryError> CheckBacking(const RegionSpec& spec, const Backing& backing) const;
  static Backing BackingOf(const Entry& region);
  // Sets the fields of a region whose spec and backing are valid.
  void Fill(Entry& region, const RegionSpec& spec);
  void Back(Entry& region, const RegionSpec& spec, const Backing& backing);

  Entry& Add(EntryType type, PdId pd, RegionKeys made);
  void Remove(Entry& entry);
  void Renew(Entry& entry, RegionKeys made);
  void Rekey(Entry& window, std::optional<KeyVariant> chosen, Key made);

  Result<Entry*, Refusal> CheckWindow(Key window, const WindowBinding& binding,
                                      const Accessor& who) const;
  bool OwnerMay(const Entry& region, uint64_t offset, uint64_t length, Access needed) const;
  Verdict<Refusal> Authorize(Key key, uint64_t address, uint64_t length, AccessKind access,
                             const Accessor& who) const;

  const bool remote_through_regions_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<Remembered> remembered_;
};

// True if the list is well formed and has exactly the pages that `length` bytes need.
bool IsGoodList(const PageListBacking& list, uint64_t length);

}  // namespace verbena::memory::model
