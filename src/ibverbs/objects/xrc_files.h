#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <utility>

#include "base/mutex.h"
#include "verbena/context.h"
#include "verbena/xrc_domain.h"

namespace verbena::ibverbs {

// Extended connection domains by the files that they were opened with: a process that opens one
// with the same file gets the same domain.
//
// Owned by a context. Thread rule: any thread.
class XrcFiles {
 public:
  using Domain = std::shared_ptr<verbena::XrcDomain>;

  // `fd` is -1 for a domain that is not shared, `flags` of O_CREAT and O_EXCL. Null with errno:
  // EAGAIN if there is none, and none is to be made.
  [[nodiscard]] Domain Open(const verbena::Context& context, int fd, int flags);

  // 0, or an error number: EBUSY while something is of the domain and no other context has it open.
  [[nodiscard]] int Close(Domain& domain);

 private:
  using File = std::pair<dev_t, ino_t>;

  Mutex mutex_;
  std::map<File, std::weak_ptr<verbena::XrcDomain>> domains_ VERBENA_GUARDED_BY(mutex_);
};

}  // namespace verbena::ibverbs
