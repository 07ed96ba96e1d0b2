#pragma once

#include "queue/work_request.h"
#include "verbena/work_request.h"
#include "verbs/convert.h"

namespace verbena::verbs {

// Converts a request of the API to an element of a send queue, the only conversion before the
// transport makes packets. Refers to the request, and must not outlive the post.
class SendTranslation {
 public:
  SendTranslation() = default;
  SendTranslation(const SendTranslation&) = delete;
  SendTranslation& operator=(const SendTranslation&) = delete;

  [[nodiscard]] const queue::SendWorkRequest& request() const { return request_; }

  void Set(const Send& r) {
    Start(r, queue::SendOpcode::kSend);
    if (r.immediate) {
      request_.wqe.opcode = queue::SendOpcode::kSendWithImmediate;
      request_.wqe.immediate = *r.immediate;
    }
    if (r.invalidate) {
      request_.wqe.opcode = queue::SendOpcode::kSendWithInvalidate;
      request_.wqe.invalidate = *r.invalidate;
    }
    if (r.to) request_.wqe.operand = *r.to;
    SetData(r.data);
  }

  void Set(const Write& r) {
    Start(r, queue::SendOpcode::kWrite);
    if (r.immediate) {
      request_.wqe.opcode = queue::SendOpcode::kWriteWithImmediate;
      request_.wqe.immediate = *r.immediate;
    }
    request_.wqe.operand = r.remote;
    SetData(r.data);
  }

  void Set(const Read& r) {
    Start(r, queue::SendOpcode::kRead);
    request_.wqe.operand = r.remote;
    SetData(r.data);
  }

  void Set(const CompareSwap& r) {
    Start(r, queue::SendOpcode::kCompareAndSwap);
    request_.wqe.operand = queue::Atomic{r.remote, r.compare, r.swap};
    SetData(r.result);
  }

  void Set(const FetchAdd& r) {
    Start(r, queue::SendOpcode::kFetchAndAdd);
    request_.wqe.operand = queue::Atomic{r.remote, r.add, 0};
    SetData(r.result);
  }

  void Set(const AtomicWrite& r) {
    Start(r, queue::SendOpcode::kAtomicWrite);
    request_.wqe.operand = r.remote;
    SetData(r.data);
  }

  void Set(const Flush& r) {
    Start(r, queue::SendOpcode::kFlush);
    request_.wqe.operand = queue::FlushOperand{.remote = r.remote,
                                               .length = r.length,
                                               .global_visibility = r.global_visibility,
                                               .persistence = r.persistence,
                                               .level = r.level};
  }

  void Set(const Bind& r) {
    Start(r, queue::SendOpcode::kBindWindow);
    request_.wqe.operand = queue::WindowBind{.window = r.window,
                                             .region = r.region,
                                             .start = r.start,
                                             .length = r.length,
                                             .variant = r.r_key.variant(),
                                             .rights = r.access,
                                             .zero_based = r.zero_based,
                                             .one_touch = r.one_touch,
                                             .by_index = r.by_index};
  }

  void Set(const Invalidate& r) {
    Start(r, queue::SendOpcode::kLocalInvalidate);
    request_.wqe.invalidate = r.key;
  }

  void Set(const Register& r) {
    Start(r, queue::SendOpcode::kRegister);
    SetRegistration(r.registration);
  }

  void Set(const RegisterAndSend& r) {
    Start(r, queue::SendOpcode::kRegisterAndSend);
    SetRegistration(r.registration);
    SetData(r.data);
  }

  void Set(const Delay& r) {
    Start(r, queue::SendOpcode::kDelay);
    request_.wqe.operand = queue::DelayOperand{.duration = DurationOf(r.duration)};
  }

 private:
  template <class Request>
  void Start(const Request& r, queue::SendOpcode opcode) {
    request_.wqe.id = r.id;
    request_.wqe.opcode = opcode;
    request_.wqe.flags = r.flags;
    if constexpr (requires { r.xrc_srq; }) request_.wqe.remote_srq = r.xrc_srq;
  }
  void SetRegistration(const Registration& r) {
    request_.wqe.operand = queue::RegistrationOperand{.key = r.key,
                                                      .rights = r.access,
                                                      .page_shift = r.page_shift,
                                                      .zero_based = r.zero_based,
                                                      .one_touch = r.one_touch,
                                                      .start = r.start,
                                                      .length = r.length,
                                                      .first_offset = r.first_offset};
    request_.pages = r.pages;
  }

  void SetData(const SgeList& list) { request_.sges = list; }

  queue::SendWorkRequest request_ = {};
};

}  // namespace verbena::verbs
