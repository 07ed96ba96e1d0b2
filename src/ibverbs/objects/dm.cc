// Device memory: bytes of the device that a program reaches only through regions and the copy
// functions of the verbs. Here they lie in the process, as the whole device does.

#include "ibverbs/objects/dm.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "base/check.h"
#include "ibverbs/failure.h"
#include "ibverbs/objects/mr.h"
#include "ibverbs/objects/region_access.h"

namespace verbena::ibverbs {
namespace {

// Cards copy device memory in words of this size. Copies are as strict here, so that a program that
// is developed with Verbena also runs on a card.
constexpr uint64_t kWord = 4;

bool IsInside(const Dm& dm, uint64_t offset, size_t length) {
  return offset <= dm.length && length <= dm.length - offset;
}

bool IsWhole(const Dm& dm, uint64_t offset, size_t length) {
  return IsInside(dm, offset, length) && offset % kWord == 0 && length % kWord == 0;
}

int CopyTo(ibv_dm* dm, uint64_t offset, const void* from, size_t length) {
  Dm& own = Cast(dm);
  if (!IsWhole(own, offset, length)) return EINVAL;
  std::memcpy(own.memory->bytes() + offset, from, length);
  return 0;
}

int CopyFrom(void* to, ibv_dm* dm, uint64_t offset, size_t length) {
  Dm& own = Cast(dm);
  if (!IsWhole(own, offset, length)) return EINVAL;
  std::memcpy(to, own.memory->bytes() + offset, length);
  return 0;
}

void Init(Dm& dm, ibv_context* context) {
  dm.context = context;
  dm.memcpy_to_dm = CopyTo;
  dm.memcpy_from_dm = CopyFrom;
}

// Alignment of an allocation in device addresses and in the process.
constexpr std::align_val_t kPage{size_t{1} << kDeviceMemoryAlignMax};

// Adds `length` to `used`; false if that exceeds the device memory of the context.
bool Charge(std::atomic<uint64_t>& used, uint64_t length) {
  if (length > kDeviceMemoryMax) return false;
  uint64_t before = used.load();
  do {
    if (length > kDeviceMemoryMax - before) return false;
  } while (!used.compare_exchange_weak(before, before + length));
  return true;
}

}  // namespace

bool DeviceMemory::Take(uint64_t length) {
  CHECK(length_ == 0);
  if (!Charge(*used_, length)) return false;
  length_ = length;
  bytes_.reset(static_cast<std::byte*>(::operator new(length, kPage)));
  std::memset(bytes_.get(), 0, length);
  return true;
}

void DeviceMemory::Free::operator()(std::byte* pages) const { ::operator delete(pages, kPage); }

ibv_dm* AllocateDm(ibv_context* context, ibv_alloc_dm_attr* attributes) try {
  constexpr auto kCall = "ibv_alloc_dm";
  if (attributes->comp_mask != 0) return Null(kCall, Invalid("unknown bits in comp_mask"));
  const uint64_t length = attributes->length;
  if (length == 0 || attributes->log_align_req > kDeviceMemoryAlignMax) {
    return Null(kCall, Invalid("the length must not be 0, and log_align_req at most 12"));
  }
  auto dm = std::make_unique<Dm>();
  Init(*dm, context);
  dm->memory = std::make_shared<DeviceMemory>(Cast(context).device_memory_used);
  if (!dm->memory->Take(length)) {
    return Null(kCall, {ErrorCode::kLimit, "the device has no more memory than max_dm_size"});
  }
  dm->length = length;
  dm->entry = Cast(context).dms.Add(dm.get());
  dm->handle = dm->entry.handle();
  return dm.release();
} catch (...) {
  return ThrownNull("ibv_alloc_dm");
}

int FreeDm(ibv_dm* dm) noexcept {
  Dm& own = Cast(dm);
  if (own.users.any()) return EBUSY;
  Release(own);
  return 0;
}

ibv_mr* RegisterDm(ibv_pd* pd, ibv_dm* dm, uint64_t offset, size_t length, unsigned flags) try {
  constexpr auto kCall = "ibv_reg_dm_mr";
  Dm& own = Cast(dm);
  const auto access = RegionAccess(flags);
  if (!access || (flags & IBV_ACCESS_ZERO_BASED) == 0) {
    return Null(kCall, Invalid("invalid access flags: IBV_ACCESS_ZERO_BASED is required"));
  }
  if (!IsInside(own, offset, length))
    return Null(kCall, Invalid("the range does not lie within the device memory"));
  auto made = MemoryRegion::Register(Cast(pd).domain(), {own.memory->bytes() + offset, length},
                                     *access, {.start = 0, .zero_based = true});
  if (!made) return Null(kCall, made.error());
  ibv_mr* const mr = Wrap(pd, std::move(*made), nullptr, length, flags);
  Cast(mr).dm_refcount = Refcount(own.users);
  return mr;
} catch (...) {
  return ThrownNull("ibv_reg_dm_mr");
}

}  // namespace verbena::ibverbs

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): the verbs are global

ibv_dm* ibv_import_dm(ibv_context* context, uint32_t handle) try {
  const auto dm = std::make_shared<Dm>();
  Init(*dm, context);
  const bool found = Cast(context).dms.With(handle, [&](const Dm& original) {
    dm->memory = original.memory;
    dm->length = original.length;
  });
  if (!found) return Null("ibv_import_dm", Invalid("no device memory has this handle"));
  dm->handle = handle;
  dm->users.self = dm;
  return dm.get();
} catch (...) {
  return ThrownNull("ibv_import_dm");
}

void ibv_unimport_dm(ibv_dm* dm) { Release(Cast(dm)); }
