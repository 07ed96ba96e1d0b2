#include "odp/paging.h"

#include "odp/page_jobs.h"

namespace verbena::odp {

Paging::Paging(LockedTables& tables, PageService& service, PageEvents* events,
               const PagingOptions& options)
    : managed(tables, service.answers(), options.on_urgent_warning),
      memory_(tables.memory),
      service_(service),
      events_(events),
      batch_max_(options.batch_max),
      resident_(memory_, &managed, service) {
  done_.reserve(options.ready_at_once);
  resident_requests_.reserve(options.requests_max);
}

Paging::Asked Paging::Request(const transport::PageRequest& request, Time now) {
  const bool is_ahead = request.ticket == transport::kPrefetchTicket;
  if (IsAnsweredAtOnce(request, now)) {
    if (!is_ahead) resident_requests_.push_back(request);
    return Asked::kResident;
  }
  PageJob job = JobFor(memory_, request, batch_max_);
  job.asked_at = now;
  job.is_ahead = is_ahead;
  managed.RefuseProgramView(job);
  const auto asked = managed.Submit(job);
  const bool is_taken = asked == ManagedPages::Asked::kNotManaged
                            ? service_.Submit(job)
                            : asked == ManagedPages::Asked::kAsked;
  return is_taken ? Asked::kTaken : Asked::kNoMemory;
}

// A page that the program has used is resident. A probe costs a microsecond; waking a pager thread
// costs a program that polls several times as much as a message.
//
// A page can be resident and still not accessible to the adapter: then each access is a loss, so
// the page is paged in instead. So are pages whose request does not fit into resident_requests_, as
// when requests have piled up for lack of memory. With page events, requests that can wait go to
// the pager, because only the pager makes the system report changes.
bool Paging::IsAnsweredAtOnce(const transport::PageRequest& request, Time now) {
  if (request.fault.is_loss || resident_requests_.size() == resident_requests_.capacity()) {
    return false;
  }
  const bool tries = request.is_urgent || (events_ == nullptr && resident_.IsWorthATry());
  return tries && resident_.Map(request.fault, now);
}

// False if the pages are not available. The memory may have become managed while they were paged
// in.
bool Paging::Enter(const PageJob& job, Time now) {
  const bool available = job.is_mapped || (!managed.IsProgramView(job) &&
                                           MapPages(memory_, service_.watch(), job, now));
  if (available && !job.is_ahead) service_time_.Add(now - job.asked_at);
  return available;
}

uint64_t Paging::MarkAbsent() {
  uint64_t pages = 0;
  events_->Take([&](uint64_t first, uint64_t last) {
    pages += memory_.MarkMachineAbsent(memory::MachineAddress(first), memory::MachineAddress(last));
  });
  return pages;
}

uint64_t Paging::Watch(Time now) {
  ResidencyScan& watch = service_.watch();
  const uint64_t gone = watch.is_done() ? watch.Finish(memory_, now) : 0;
  if (watch.IsDue(now)) {
    watch.Begin();
    service_.SubmitProbe();
  }
  return gone;
}

}  // namespace verbena::odp
