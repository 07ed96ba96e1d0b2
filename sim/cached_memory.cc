#include "sim/cached_memory.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/check.h"

namespace verbena::sim {
namespace {

const void* PointerTo(uint64_t address) { return reinterpret_cast<const void*>(address); }

CacheOptions OptionsOf(const Swarm& swarm) {
  CacheOptions options;
  options.entries_max = swarm.cache_entries;
  options.bytes_max = swarm.cache_bytes_pages * kPage;
  options.age_max = std::chrono::hours(24);  // of real time
  options.release_immediately = swarm.cache_kind == CacheKind::kOff;
  options.announces = swarm.cache_kind == CacheKind::kAnnounces;
  options.use_userfaultfd = false;  // the real one knows nothing of simulated memory
  options.exclusive = swarm.cache_exclusive;
  options.released_remote_key =
      swarm.cache_keeps_keys ? ReleasedRemoteKey::kKept : ReleasedRemoteKey::kRefused;
  return options;
}

}  // namespace

// Registers the frames that it finds, in the tables of the endnode.
class CachedMemory::Backend final : public RegistrationBackend {
 public:
  explicit Backend(CachedMemory& owner) : owner_(owner) {}

  [[nodiscard]] bool follows_mappings() const override { return false; }
  [[nodiscard]] MemoryEvents* events() override {
    return owner_.swarm_.cache_kind == CacheKind::kEvents ? &owner_.pages_ : nullptr;
  }
  // Another thread of the program may change other pages before and after, also of this range: it
  // is more than what was asked for if registrations merge.
  [[nodiscard]] ErrorOr<CachedKeys> Register(MemoryRange range, Access access) override {
    owner_.ReplaceSome(range);
    const auto frames = owner_.pages_.FramesAt({range.address, range.address + range.length - 1});
    if (!frames) return tl::unexpected(Error{.code = ErrorCode::kSystem, .os_error = EFAULT});
    Endnode& node = owner_.node_;
    const auto made = node.core.regions.Register(
        SpecOf(range, access),
        memory::PageListBacking{.pages = *frames, .first_offset = range.address % kPage});
    CHECK(made.has_value());
    ranges_[made->local.value()] = range;
    owner_.ReplaceSome(range);
    return Granted(*made, range, access);
  }
  void Deregister(const CachedKeys& keys) override {
    CHECK(ranges_.erase(keys.l_key.value()) == 1);
    owner_.node_.access.Remove(keys.r_key);
    CHECK(owner_.node_.core.regions.Deregister(keys.l_key).has_value());
  }
  [[nodiscard]] ErrorOr<CachedKeys> Rekey(const CachedKeys& keys, Access access) override {
    if (!owner_.swarm_.cache_rekeys) {
      return tl::unexpected(Error{.code = ErrorCode::kNotSupported});
    }
    const auto old = ranges_.extract(keys.l_key.value());
    CHECK(!old.empty());
    const auto made = owner_.node_.core.regions.Reregister(keys.l_key, SpecOf(old.mapped(), access),
                                                           std::nullopt);
    CHECK(made.has_value());
    owner_.node_.access.Remove(keys.r_key);
    ranges_[made->local.value()] = old.mapped();
    return Granted(*made, old.mapped(), access);
  }

 private:
  [[nodiscard]] memory::RegionSpec SpecOf(MemoryRange range, Access access) const {
    return {.pd = owner_.node_.pd,
            .start = KeyAddress(range.address),
            .length = range.length,
            .rights = access};
  }
  CachedKeys Granted(const memory::RegionKeys& keys, MemoryRange range, Access access) {
    owner_.node_.access.Add(keys.remote,
                            {.start = range.address, .length = range.length, .rights = access});
    return {.l_key = keys.local, .r_key = keys.remote};
  }

  CachedMemory& owner_;
  std::map<uint32_t, MemoryRange> ranges_;  // by L_Key: all that is registered
};

CachedMemory::CachedMemory(const Swarm& swarm, Endnode& node, Random& random, Findings& findings)
    : swarm_(swarm),
      node_(node),
      random_(random.Fork()),
      findings_(findings),
      pages_(node, swarm.cache_pages, random),
      cache_(
          RegistrationCache::Create(std::make_unique<Backend>(*this), OptionsOf(swarm)).value()) {}

// Mostly bytes that were used before, if they are enough; then they are registered as before.
std::optional<Interval> CachedMemory::Choose(uint64_t length) {
  const auto bytes = random_.Chance(3, 4) ? ChooseRecent(length) : ChooseNew(length);
  if (!bytes) return std::nullopt;
  const bool is_used = std::ranges::any_of(
      uses_, [&](const auto& use) { return use.second.bytes.Overlaps(*bytes); });
  return is_used ? std::nullopt : bytes;
}

std::optional<Interval> CachedMemory::ChooseRecent(uint64_t length) {
  if (recent_.size() < kRecent) return ChooseNew(length);
  const Interval bytes = recent_[random_.Below(kRecent)];
  return bytes.last - bytes.first < length ? ChooseNew(length) : std::optional(bytes);
}

// Half of the time at the beginning of a page.
std::optional<Interval> CachedMemory::ChooseNew(uint64_t length) {
  const uint64_t page = random_.Below(swarm_.cache_pages) * kPage;
  const uint64_t offset = page + (random_.Chance(1, 2) ? 0 : random_.Below(kPage));
  if (offset + length > pages_.size()) return std::nullopt;
  const Interval bytes{ProgramPages::kStart + offset, ProgramPages::kStart + offset + length - 1};
  if (recent_.size() == kRecent) recent_.pop_front();
  recent_.push_back(bytes);
  return bytes;
}

std::optional<CachedMemory::Buffer> CachedMemory::Take(uint64_t id, uint64_t length,
                                                       Access access) {
  const auto bytes = Choose(std::max<uint64_t>(length, 1));
  if (!bytes) return std::nullopt;
  pages_.Use(*bytes);
  auto acquired = cache_.Acquire(PointerTo(bytes->first), bytes->last - bytes->first + 1, access);
  if (!acquired) {
    pages_.EndUse(*bytes);
    if (acquired.error().code != ErrorCode::kLimit) findings_.Add("cache", acquired.error().text);
    return std::nullopt;
  }
  const Buffer buffer{bytes->first, acquired->l_key(), acquired->r_key()};
  uses_.emplace(id, Use{*bytes, std::move(*acquired), access.HasAny(Access::kRemote)});
  return buffer;
}

// A released R_Key ends at once, unless the program trusts its peers.
void CachedMemory::End(uint64_t id, bool well) {
  const auto found = uses_.find(id);
  if (found == uses_.end()) return;
  Use& use = found->second;
  const Key key = use.region.r_key();
  pages_.Finish(id, well, findings_);
  use.region.Release();
  const auto grant = node_.access.Find(key);
  if (use.is_remote && !swarm_.cache_keeps_keys && grant && grant->rights.HasAny(Access::kRemote)) {
    findings_.Add("cache", "a released R_Key is valid");
  }
  pages_.EndUse(use.bytes);
  uses_.erase(found);
}

// A program that promises to announce does so before.
void CachedMemory::ReplaceSome(MemoryRange range) {
  if (!random_.Chance(swarm_.remaps, 1000)) return;
  const uint64_t start = (range.address - ProgramPages::kStart) / kPage;
  const uint64_t end = (range.address + range.length - 1 - ProgramPages::kStart) / kPage;
  const uint64_t first = random_.Between(start, end);
  const uint64_t count = random_.Between(1, 3);
  if (swarm_.cache_kind == CacheKind::kAnnounces) {
    cache_.Announce(PointerTo(ProgramPages::kStart + first * kPage), count * kPage);
  }
  pages_.Replace(first, count, random_.Chance(1, 4));
}

void CachedMemory::Step(bool is_calm) {
  if (random_.Chance(1, 8)) pages_.StepReader();
  if (is_calm) return;
  // Some steps pass between two operations.
  if (random_.Chance(1, 8)) ReplaceSome({ProgramPages::kStart, pages_.size()});
  if (random_.Chance(1, 200)) cache_.Collect(random_.Chance(1, 2));
}

void CachedMemory::CheckEnd() {
  CHECK(uses_.empty());
  while (!pages_.is_reader_idle()) pages_.StepReader();
  cache_.Collect(true);
  if (!cache_.List().empty()) findings_.Add("leaks", "the registration cache is not empty");
  cache_ = {};
  pages_.Release(findings_);
}

}  // namespace verbena::sim
