#include "ibverbs/objects/xrc_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "ibverbs/failure.h"

namespace verbena::ibverbs {
namespace {

XrcFiles::Domain Make(const verbena::Context& context) {
  auto made = verbena::XrcDomain::Open(context);
  if (!made) return Null("ibv_open_xrcd", made.error());
  return std::make_shared<verbena::XrcDomain>(std::move(*made));
}

std::nullptr_t NullFor(int error) {
  errno = error;
  return nullptr;
}

}  // namespace

XrcFiles::Domain XrcFiles::Open(const verbena::Context& context, int fd, int flags) {
  if (fd == -1) return (flags & O_CREAT) != 0 ? Make(context) : NullFor(EINVAL);
  struct stat file = {};
  if (fstat(fd, &file) != 0) return NullFor(EBADF);
  const File name{file.st_dev, file.st_ino};
  const MutexLock lock(mutex_);
  const auto place = domains_.find(name);
  if (Domain known = place != domains_.end() ? place->second.lock() : nullptr) {
    if ((flags & O_EXCL) != 0) return NullFor(EINVAL);
    return known;
  }
  if ((flags & O_CREAT) == 0) return NullFor(EAGAIN);
  Domain made = Make(context);
  if (made != nullptr) domains_.insert_or_assign(name, made);
  return made;
}

int XrcFiles::Close(Domain& domain) {
  const MutexLock lock(mutex_);
  if (domain.use_count() == 1) {
    if (const auto ok = domain->Destroy(); !ok) return Failed("ibv_close_xrcd", ok.error());
  }
  domain.reset();
  std::erase_if(domains_, [](const auto& place) { return place.second.expired(); });
  return 0;
}

}  // namespace verbena::ibverbs
