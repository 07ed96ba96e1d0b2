#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/page_events.h"
#include "base/time.h"
#include "odp/locked_tables.h"
#include "odp/managed_pages.h"
#include "odp/page_job.h"
#include "odp/page_service.h"
#include "odp/resident_pages.h"
#include "odp/service_time.h"
#include "transport/common/outbox.h"

namespace verbena::odp {

struct PagingOptions {
  uint64_t batch_max = 0;    // bytes that one request pages in at most
  size_t requests_max = 0;   // requests between two calls of AnswerResident
  size_t ready_at_once = 0;  // answers that one TakeReady takes
  ManagedPages::OnWarning on_urgent_warning = {};
};

// The engine's only interface to pages. Queue pairs request pages that are absent from the tables.
// The page service pages in native memory, the arenas page in managed memory, and the pages enter
// the tables before the queue pair gets its answer. Pages that left memory become absent. No
// function here waits for a page.
//
//   Request ---> resident: AnswerResident, before the queue pair's next step
//           \--> page service, arenas: TakeReady, in a later pass
//
// Part of the engine, used under its lock.
class Paging {
 public:
  // `events`: nullptr if the system does not report the pages that the program gives up.
  Paging(LockedTables& tables, PageService& service, PageEvents* events,
         const PagingOptions& options);
  Paging(const Paging&) = delete;
  Paging& operator=(const Paging&) = delete;

  enum class Asked : uint8_t {
    kResident,  // AnswerResident answers it
    kTaken,     // answered through TakeReady, unless it is a prefetch
    kNoMemory,  // to be tried again in a later pass
  };
  [[nodiscard]] Asked Request(const transport::PageRequest& request, Time now);

  // Calls fn(request) for each request whose pages were in memory, except prefetches.
  template <class Fn>
  void AnswerResident(Fn fn) {
    for (const transport::PageRequest& request : resident_requests_) fn(request);
    resident_requests_.clear();
  }

  // Cheap enough to be called in every pass.
  [[nodiscard]] bool has_ready() const { return service_.answers().has_done(); }
  // Calls fn(request, available) for finished requests. REQUIRES: fn does not call Request.
  template <class Fn>
  void TakeReady(Time now, Fn fn) {
    service_.answers().TakeDone(done_);
    for (const PageJob& job : done_) {
      const bool available = Enter(job, now);
      if (!job.is_ahead) fn(job.request, available);
    }
    done_.clear();
  }

  // Marks the pages that the program gave up as absent, and returns how many were present. After an
  // overflow of the event queue that is the whole address space.
  uint64_t MarkGivenUpAbsent() {
    return events_ != nullptr && events_->has_events() ? MarkAbsent() : 0;
  }
  // Finds pages that the system has evicted: starts a probe when one is due, marks absent what the
  // last one found, and returns how many pages that were. Does not count as work: no thread is
  // woken for it, and an idle adapter makes no probes.
  uint64_t Watch(Time now);

  // The RNR timer value for peers whose pages are being paged in.
  [[nodiscard]] Duration wait() const { return service_time_.wait(); }

  [[nodiscard]] bool IsConsistent() const {
    return service_.answers().IsConsistent() && done_.empty();
  }

  ManagedPages managed;

 private:
  bool IsAnsweredAtOnce(const transport::PageRequest& request, Time now);
  bool Enter(const PageJob& job, Time now);
  uint64_t MarkAbsent();

  memory::MemoryCore& memory_;
  PageService& service_;
  PageEvents* const events_;
  const uint64_t batch_max_;
  ResidentPages resident_;
  ServiceTime service_time_;
  std::vector<PageJob> done_;  // a member so that its capacity is reused
  std::vector<transport::PageRequest> resident_requests_;  // not answered yet
};

}  // namespace verbena::odp
