// ibv_alloc_buf, ibv_reg_buf_mr and ibv_reg_mr_ex: buffers that the library allocates for a
// program, and regions described by a structure. rdma-core added them in releases 59 to 64.

#include <infiniband/verbs.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>

#include "ibverbs/failure.h"
#include "ibverbs/newer_verbs.h"
#include "ibverbs/objects/objects.h"
#include "ibverbs/objects/refcount.h"

namespace verbena::ibverbs {

// A buffer of ibv_alloc_buf. It consists of whole pages, so that a memory budget can take them over
// (docs/managed.md). Owned by the program until ibv_free_buf.
struct Buffer {
  ibv_pd* pd = nullptr;
  std::byte* bytes = nullptr;
  size_t size = 0;
  Refcount pd_refcount = {};
};

namespace {

constexpr uint64_t kKnownMask = 0x3F;

// Why this range cannot be registered as part of `buffer`; null if it can.
const char* Refusal(const ibv_pd* pd, const Buffer& buffer, const void* address, size_t length) {
  if (pd != buffer.pd) return "the buffer belongs to another protection domain";
  const auto at = reinterpret_cast<uintptr_t>(address);
  const auto start = reinterpret_cast<uintptr_t>(buffer.bytes);
  if (at < start || length > buffer.size || at - start > buffer.size - length) {
    return "the region does not lie within the buffer";
  }
  return nullptr;
}

// Why these attributes describe no region; null if they do.
const char* Refusal(const ibv_pd* pd, const MrInitAttributes& attributes) {
  const bool of_buffer = attributes.Has(MrInitMask::kBuffer);
  const bool of_file = attributes.Has(MrInitMask::kFd) || attributes.Has(MrInitMask::kFdOffset);
  if (of_buffer && of_file) return "a buffer and a file descriptor cannot be combined";
  if (attributes.Has(MrInitMask::kAddress) == of_file) {
    return "exactly one of address and file descriptor is needed";
  }
  if (!of_buffer) return nullptr;
  if (attributes.buffer == nullptr) return "the buffer is a null pointer";
  return Refusal(pd, *attributes.buffer, attributes.address, attributes.length);
}

}  // namespace

extern "C" {

ibv_mr* RegisterMrEx(ibv_pd* pd, const MrInitAttributes* attributes) try {
  const MrInitAttributes& a = *attributes;
  if ((a.comp_mask & ~kKnownMask) != 0) {
    return Null("ibv_reg_mr_ex", NotOffered("unknown bits in comp_mask"));
  }
  if (a.Has(MrInitMask::kDmah)) return UnsupportedNull("ibv_reg_mr_ex with a DMA handle");
  if (const char* const why = Refusal(pd, a)) return Null("ibv_reg_mr_ex", Invalid(why));
  if (a.Has(MrInitMask::kFd)) {
    return ibv_reg_dmabuf_mr(pd, a.fd_offset, a.length, a.iova, a.fd, a.access);
  }
  const uint64_t iova = a.Has(MrInitMask::kIova) ? a.iova : reinterpret_cast<uintptr_t>(a.address);
  return ibv_reg_mr_iova2(pd, a.address, a.length, iova, static_cast<unsigned>(a.access));
} catch (...) {
  return ThrownNull("ibv_reg_mr_ex");
}

void* AllocateBuffer(ibv_pd* pd, size_t size, Buffer** buffer) try {
  if (size == 0 || size > SIZE_MAX / 2) {
    return Null("ibv_alloc_buf", Invalid("the size must be 1 to SIZE_MAX / 2 bytes"));
  }
  void* const bytes =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) return nullptr;  // errno says why
  auto* const made = new (std::nothrow) Buffer{.pd = pd,
                                               .bytes = static_cast<std::byte*>(bytes),
                                               .size = size,
                                               .pd_refcount = Refcount(Cast(pd).users)};
  if (made == nullptr) {
    munmap(bytes, size);
    errno = ENOMEM;
    return nullptr;
  }
  *buffer = made;
  return bytes;
} catch (...) {
  return ThrownNull("ibv_alloc_buf");
}

void FreeBuffer(Buffer* buffer) noexcept {
  if (buffer == nullptr) return;
  munmap(buffer->bytes, buffer->size);
  delete buffer;
}

ibv_mr* RegisterBuffer(ibv_pd* pd, Buffer* buffer, void* address, size_t length, int access) try {
  if (const char* const why = Refusal(pd, *buffer, address, length)) {
    return Null("ibv_reg_buf_mr", Invalid(why));
  }
  return ibv_reg_mr_iova2(pd, address, length, reinterpret_cast<uintptr_t>(address),
                          static_cast<unsigned>(access));
} catch (...) {
  return ThrownNull("ibv_reg_buf_mr");
}
}

}  // namespace verbena::ibverbs
