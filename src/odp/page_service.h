#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "base/time.h"
#include "odp/page_answers.h"
#include "odp/page_job.h"
#include "odp/residency_scan.h"

namespace verbena::odp {

// The engine's interface to the paging of this process's memory: the engine submits jobs, takes
// back finished ones, and never waits. The Pager serves real memory; tests and simulations have
// services that answer when they choose to.
//
// answers() and watch(), which the engine calls in every pass, are not virtual; Submit is.
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
  // Makes the probe of the residency scan that the caller has begun.
  virtual void SubmitProbe() = 0;
  // How many of these 4 KiB pages are in memory, counted from the first on. Touches none.
  [[nodiscard]] virtual uint64_t CountResident(uint64_t address, uint64_t page_count) const = 0;

  [[nodiscard]] PageAnswers& answers() { return answers_; }
  // For its thread rule see ResidencyScan.
  [[nodiscard]] ResidencyScan& watch() { return watch_; }

 private:
  PageAnswers answers_;
  ResidencyScan watch_;
};

}  // namespace verbena::odp
