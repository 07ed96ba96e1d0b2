#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <utility>

#include "base/mutex.h"
#include "verbena/context.h"
#include "verbena/xrc_domain.h"

namespace verbena::ibverbs {

// Finds extended connection (XRC) domains by the files that they were opened with: opening the same
// file again in this context gives the same domain.
//
// Owned by a context. Thread rule: any thread.
class XrcFiles {
 public:
  using Domain = std::shared_ptr<verbena::XrcDomain>;

  // `fd` is -1 for a domain that is not shared; `flags` are O_CREAT and O_EXCL. Null with errno on
  // failure: EAGAIN if the file has no domain and O_CREAT is not set.
  [[nodiscard]] Domain Open(const verbena::Context& context, int fd, int flags);

  // Gives up one reference to a domain. 0, or an error number: EBUSY if it is the last one and a
  // queue still belongs to the domain.
  [[nodiscard]] int Close(Domain& domain);

 private:
  using File = std::pair<dev_t, ino_t>;

  Mutex mutex_;
  std::map<File, std::weak_ptr<verbena::XrcDomain>> domains_ VERBENA_GUARDED_BY(mutex_);
};

}  // namespace verbena::ibverbs
