#include "tests/survival/failures.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <filesystem>
#include <new>

namespace verbena::survival {
namespace {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): operators have no object
std::atomic<int> wanted = -1;  // a Resource; -1: nothing fails
std::atomic<bool> is_of_others = false;
std::atomic<size_t> left = 0;  // requests until the one that fails
std::atomic<bool> has_failed = false;
std::atomic<size_t> live_bytes = 0;
thread_local bool is_asker = false;  // the thread that has a Failing
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

bool Fails(Resource resource) {
  if (wanted.load(std::memory_order_relaxed) != static_cast<int>(resource)) return false;
  if (is_asker == is_of_others.load()) return false;
  if (left.fetch_sub(1) != 1) return false;
  has_failed = true;
  return true;
}

bool DescriptorFails() {
  if (!Fails(Resource::kDescriptor)) return false;
  errno = EMFILE;
  return true;
}

// The next function of this name: the one that this file replaces.
template <class Fn>
Fn* Real(Fn* /*of this type*/, const char* name) {
  return reinterpret_cast<Fn*>(dlsym(RTLD_NEXT, name));
}

size_t CountIn(const char* folder) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

}  // namespace

const char* NameOf(Resource resource) {
  switch (resource) {
    case Resource::kMemory:
      return "memory";
    case Resource::kDescriptor:
      return "descriptor";
    case Resource::kThread:
      return "thread";
  }
  return "";
}

Failing::Failing(Resource resource, size_t n, Whose whose) {
  is_asker = true;
  has_failed = false;
  left = n;
  is_of_others = whose == Whose::kOtherThreads;
  wanted = static_cast<int>(resource);
}

bool Failing::Stop() {
  wanted = -1;
  is_asker = false;
  return has_failed;
}

Held Held::Now() {
  Held held;
  held.bytes = live_bytes;
  held.descriptors = CountIn("/proc/self/fd");
  held.threads = CountIn("/proc/self/task");
  return held;
}

std::ostream& operator<<(std::ostream& out, const Held& held) {
  return out << held.bytes << " bytes, " << held.descriptors << " descriptors, " << held.threads
             << " threads";
}

// For the operators below; nullptr on failure.
namespace {

void* Allocate(size_t size, size_t alignment) {
  if (Fails(Resource::kMemory)) return nullptr;
  void* const memory =
      alignment == 0
          ? std::malloc(size)
          : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory != nullptr) live_bytes += malloc_usable_size(memory);
  return memory;
}

void* AllocateOrThrow(size_t size, size_t alignment = 0) {
  if (void* const memory = Allocate(size, alignment)) return memory;
  throw std::bad_alloc();
}

void Free(void* memory) {
  if (memory != nullptr) live_bytes -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace
}  // namespace verbena::survival

using verbena::survival::Resource;
namespace survival = verbena::survival;

void* operator new(size_t size) { return survival::AllocateOrThrow(size); }
void* operator new[](size_t size) { return survival::AllocateOrThrow(size); }
void* operator new(size_t size, std::align_val_t alignment) {
  return survival::AllocateOrThrow(size, static_cast<size_t>(alignment));
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return survival::AllocateOrThrow(size, static_cast<size_t>(alignment));
}
void* operator new(size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return survival::Allocate(size, 0);
}
void* operator new[](size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return survival::Allocate(size, 0);
}
void operator delete(void* memory) noexcept { survival::Free(memory); }
void operator delete[](void* memory) noexcept { survival::Free(memory); }
void operator delete(void* memory, size_t) noexcept { survival::Free(memory); }
void operator delete[](void* memory, size_t) noexcept { survival::Free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { survival::Free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { survival::Free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { survival::Free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { survival::Free(memory); }

extern "C" {

// The linker redirects calls of calloc in this program here (--wrap). A replacement of calloc
// itself would be called by the loader and by a sanitizer before they are ready for it.
void* __real_calloc(size_t count, size_t size);
void* __wrap_calloc(size_t count, size_t size) {
  if (!survival::Fails(Resource::kMemory)) return __real_calloc(count, size);
  errno = ENOMEM;
  return nullptr;
}

void* mmap(void* at, size_t length, int protection, int flags, int fd, off_t offset) noexcept {
  static auto* const real = survival::Real(&mmap, "mmap");
  if (survival::Fails(Resource::kMemory)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return real(at, length, protection, flags, fd, offset);
}

// A sanitizer must intercept thread creation. Its interceptor can be linked into this program,
// where RTLD_NEXT does not find it.
[[gnu::weak]] int __interceptor_pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                               void* (*start)(void*), void* argument) noexcept;
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) noexcept {
  static auto* const real = &__interceptor_pthread_create != nullptr
                                ? &__interceptor_pthread_create
                                : survival::Real(&pthread_create, "pthread_create");
  if (survival::Fails(Resource::kThread)) return EAGAIN;
  return real(thread, attributes, start, argument);
}

int open(const char* path, int flags, ...) {
  static auto* const real = survival::Real(&open, "open");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return survival::DescriptorFails() ? -1 : real(path, flags, mode);
}

int socket(int domain, int type, int protocol) noexcept {
  static auto* const real = survival::Real(&socket, "socket");
  return survival::DescriptorFails() ? -1 : real(domain, type, protocol);
}

int eventfd(unsigned int value, int flags) noexcept {
  static auto* const real = survival::Real(&eventfd, "eventfd");
  return survival::DescriptorFails() ? -1 : real(value, flags);
}

int timerfd_create(int clock, int flags) noexcept {
  static auto* const real = survival::Real(&timerfd_create, "timerfd_create");
  return survival::DescriptorFails() ? -1 : real(clock, flags);
}

int memfd_create(const char* name, unsigned int flags) noexcept {
  static auto* const real = survival::Real(&memfd_create, "memfd_create");
  return survival::DescriptorFails() ? -1 : real(name, flags);
}

int getifaddrs(ifaddrs** list) noexcept {
  static auto* const real = survival::Real(&getifaddrs, "getifaddrs");
  return survival::DescriptorFails() ? -1 : real(list);
}
}
