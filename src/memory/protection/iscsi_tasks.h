#pragma once

#include <cstdint>

#include "base/result.h"
#include "memory/access.h"
#include "memory/memory_error.h"
#include "memory/protection/protection_table.h"
#include "memory/protection/regions.h"
#include "memory/refusal.h"
#include "memory/spaces/protection_domain.h"

namespace verbena::memory {

// The memory of one iSCSI command. The target addresses it from zero.
struct TaskSpec {
  PdId pd;
  uint64_t length = 0;
  Access rights = Access::kRemoteRead | Access::kRemoteWrite;  // of the target
  bool reads = false;    // a disk read: the target writes the memory; otherwise it reads the memory
  uint64_t command = 0;  // the consumer's id of the command, returned when the task ends
};

// The table part of rows B4 and B13: an entry of type task, whose key is the initiator task tag. It
// lives from the command to the response.
//
// One thread at a time.
class IscsiTasks {
 public:
  IscsiTasks(ProtectionTable& table, ProtectionDomains& domains, TranslationStore& store)
      : table_(table), domains_(domains), store_(store) {}

  // A command without data has no pages.
  MemoryResult<Key> Begin(const TaskSpec& spec, const PageListBacking& backing);

  // Ends the task at the response. Returns the id of the command.
  Result<uint64_t, Refusal> End(Key task, const Accessor& who);

 private:
  ProtectionTable& table_;
  ProtectionDomains& domains_;
  TranslationStore& store_;
};

}  // namespace verbena::memory
