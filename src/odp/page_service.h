#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "base/time.h"
#include "odp/page_answers.h"
#include "odp/page_job.h"
#include "odp/residency_scan.h"

namespace verbena::odp {

// The engine's view of the paging of this process's memory: it hands in what it must have, takes
// back what is done, and never waits. The Pager is the one on real memory; tests and simulations
// have others, which answer when they choose to.
//
// What the engine asks in every pass (answers, watch) is no virtual call; a fault is one.
class PageService {
 public:
  // `on_done` as in PageAnswers, `residency_scan_period` as in ResidencyScan.
  PageService(std::function<void()> on_done, Duration residency_scan_period)
      : answers_(std::move(on_done)), watch_(residency_scan_period) {}
  PageService(const PageService&) = delete;
  PageService& operator=(const PageService&) = delete;
  virtual ~PageService() = default;

  // The answer comes through answers(). False if there is no memory for it.
  [[nodiscard]] virtual bool Submit(const PageJob& job) = 0;
  // A look of the watch, which has begun.
  virtual void SubmitProbe() = 0;
  // How many of these pages of 4 KiB are in memory now, from the first on. None is touched.
  [[nodiscard]] virtual uint64_t CountResident(uint64_t address, uint64_t page_count) const = 0;

  [[nodiscard]] PageAnswers& answers() { return answers_; }
  // See there for the thread rule.
  [[nodiscard]] ResidencyScan& watch() { return watch_; }

 private:
  PageAnswers answers_;
  ResidencyScan watch_;
};

}  // namespace verbena::odp
