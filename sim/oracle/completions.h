#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "queue/completion.h"
#include "sim/findings.h"
#include "sim/operation.h"

namespace verbena::sim {

// What happened to a connection, which determines the allowed completion statuses.
struct AllowedErrors {
  bool is_broken = false;    // one of its sides has failed
  bool may_lose = false;     // packets, or the time to respond to them
  bool may_run_dry = false;  // the receiver is not ready more often than is allowed
  bool pages_may_fail = false;
  bool has_lost_memory = false;  // unmapped or deregistered while it is in use
  bool has_overflowed = false;   // a completion queue of either side was full
  bool is_attacked = false;      // any response may have been forged
};

inline bool IsAllowed(const Operation& operation, CompletionStatus status,
                      const AllowedErrors& allowed_errors) {
  const Fate fate = operation.fate;
  const bool is_taken_away =
      operation.is_endangered || allowed_errors.pages_may_fail || allowed_errors.has_lost_memory;
  if (allowed_errors.is_attacked) return true;
  if (status == CompletionStatus::kSuccess) return fate == Fate::kSuccess;
  if (status == CompletionStatus::kFlushed) return allowed_errors.is_broken;
  if (status == CompletionStatus::kRetryExceeded) {
    return allowed_errors.may_lose || allowed_errors.is_broken || is_taken_away ||
           allowed_errors.has_overflowed;
  }
  if (status == CompletionStatus::kRnrRetryExceeded) return allowed_errors.may_run_dry;
  if (status == CompletionStatus::kRemoteAccessError) {
    return fate == Fate::kRemoteRefused || is_taken_away;
  }
  if (status == CompletionStatus::kRemoteInvalidRequest) return fate == Fate::kRemoteInvalid;
  if (status == CompletionStatus::kLocalProtectionError) {
    return fate == Fate::kLocalRefused || is_taken_away;
  }
  if (status == CompletionStatus::kLocalLengthError) return fate == Fate::kTooLong;
  if (status == CompletionStatus::kLocalQpOperationError) return fate == Fate::kNotRegistered;
  if (status == CompletionStatus::kRemoteOperationError) {
    // Of a receive buffer, or of the completion of the receive.
    return allowed_errors.has_lost_memory || allowed_errors.pages_may_fail ||
           allowed_errors.has_overflowed;
  }
  if (status == CompletionStatus::kWindowBindError) {
    return operation.is_endangered || allowed_errors.has_lost_memory;
  }
  return false;
}

// The oracle of completions of one send queue: each element completes once, in the order of
// posting, with an allowed status; only successful unsignaled ones have no completion, and nothing
// succeeds after a failure.
class CompletionsOracle {
 public:
  void Posted(std::shared_ptr<Operation> operation) { posted_.push_back(std::move(operation)); }
  [[nodiscard]] const std::deque<std::shared_ptr<Operation>>& posted() const { return posted_; }

  // Calls done(operation, well) for each operation that has ended by this.
  template <class Done>
  void Completed(const Completion& completion, const AllowedErrors& allowed_errors,
                 Findings& findings, Done done) {
    while (!posted_.empty() && posted_.front()->id != completion.id.value()) {
      const std::shared_ptr<Operation> silent = Pop();
      if (silent->is_signaled || has_failed_ || silent->fate != Fate::kSuccess) {
        return findings.Add("completions", "no completion of " + NameOf(*silent));
      }
      done(*silent, true);
    }
    if (posted_.empty()) {
      return findings.Add("completions", "completed twice, or never posted: id " +
                                             std::to_string(completion.id.value()));
    }
    const std::shared_ptr<Operation> operation = Pop();
    const bool well = completion.status == CompletionStatus::kSuccess;
    if (!IsAllowed(*operation, completion.status, allowed_errors) || (well && has_failed_)) {
      findings.Add("completions", NameOf(*operation) + " ended with " +
                                      verbena::NameOf(completion.status) +
                                      ", which nothing allows");
    }
    has_failed_ = has_failed_ || !well;
    done(*operation, well);
  }

  // The queue pair was resumed after a failure. REQUIRES: nothing is posted.
  void Resumed() { has_failed_ = false; }

  // The queue is empty: operations without a completion have succeeded.
  template <class Done>
  void Drained(Findings& findings, Done done) {
    while (!posted_.empty()) {
      const std::shared_ptr<Operation> silent = Pop();
      if (silent->is_signaled || has_failed_) {
        return findings.Add("completions", "no completion of " + NameOf(*silent));
      }
      done(*silent, true);
    }
  }

  // The completion queue was full: these operations get no completions.
  template <class Done>
  void Lost(Done done) {
    while (!posted_.empty()) done(*Pop(), false);
  }

 private:
  std::shared_ptr<Operation> Pop() {
    std::shared_ptr<Operation> front = std::move(posted_.front());
    posted_.pop_front();
    return front;
  }
  static std::string NameOf(const Operation& operation) {
    return std::string(queue::NameOf(operation.opcode)) + " " + std::to_string(operation.id);
  }

  std::deque<std::shared_ptr<Operation>> posted_;
  bool has_failed_ = false;
};

}  // namespace verbena::sim
