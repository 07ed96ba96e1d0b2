#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/uninitialized.h"
#include "queue/work_request.h"
#include "verbena/options.h"
#include "verbena/work_request.h"
#include "verbs/convert.h"

namespace verbena::verbs {

// A scatter/gather list in the adapter's words. Lives as long as one post.
class SgeTranslation {
 public:
  // False if it is longer than any queue takes.
  [[nodiscard]] bool Set(const SgeList& list) {
    if (list.size() > kSgesMax) return false;
    queue::Sge* to = sges_.data();
    for (const Sge& sge : list) {
      *to++ = {sge.address, sge.length, sge.key};
    }
    size_ = list.size();
    return true;
  }
  [[nodiscard]] std::span<const queue::Sge> sges() const { return {sges_.data(), size_}; }

 private:
  Uninitialized<queue::Sge, kSgesMax> sges_;
  size_t size_ = 0;
};

// A request of a send queue in the adapter's words. Lives as long as one post; the request that it
// is made of must, too.
//
// Set says whether the request can be one: false for what no queue would take.
class SendTranslation {
 public:
  SendTranslation() = default;
  SendTranslation(const SendTranslation&) = delete;
  SendTranslation& operator=(const SendTranslation&) = delete;

  [[nodiscard]] const queue::SendRequest& request() const { return request_; }

  [[nodiscard]] bool Set(const Send& r) {
    if (r.immediate && r.invalidate) return false;
    Start(r, queue::SendOpcode::kSend);
    if (r.immediate) {
      request_.wqe.opcode = queue::SendOpcode::kSendWithImmediate;
      request_.wqe.immediate = Immediate(r.immediate->value());
    }
    if (r.invalidate) {
      request_.wqe.opcode = queue::SendOpcode::kSendWithInvalidate;
      request_.wqe.invalidate = *r.invalidate;
    }
    if (r.to) {
      request_.wqe.operand =
          queue::Datagram{.handle = r.to->handle, .qp = r.to->qp, .q_key = r.to->q_key};
    }
    return SetData(r.data);
  }

  [[nodiscard]] bool Set(const Write& r) {
    Start(r, queue::SendOpcode::kWrite);
    if (r.immediate) {
      request_.wqe.opcode = queue::SendOpcode::kWriteWithImmediate;
      request_.wqe.immediate = Immediate(r.immediate->value());
    }
    request_.wqe.operand = RemoteOf(r.remote);
    return SetData(r.data);
  }

  [[nodiscard]] bool Set(const Read& r) {
    Start(r, queue::SendOpcode::kRead);
    request_.wqe.operand = RemoteOf(r.remote);
    return SetData(r.data);
  }

  [[nodiscard]] bool Set(const CompareSwap& r) {
    Start(r, queue::SendOpcode::kCompareAndSwap);
    request_.wqe.operand = queue::Atomic{RemoteOf(r.remote), r.compare, r.swap};
    return SetData(r.result);
  }

  [[nodiscard]] bool Set(const FetchAdd& r) {
    Start(r, queue::SendOpcode::kFetchAndAdd);
    request_.wqe.operand = queue::Atomic{RemoteOf(r.remote), r.add, 0};
    return SetData(r.result);
  }

  [[nodiscard]] bool Set(const AtomicWrite& r) {
    Start(r, queue::SendOpcode::kAtomicWrite);
    request_.wqe.operand = RemoteOf(r.remote);
    return SetData(r.data);
  }

  [[nodiscard]] bool Set(const Flush& r) {
    Start(r, queue::SendOpcode::kFlush);
    request_.wqe.operand = queue::Flush{.remote = RemoteOf(r.remote),
                                        .length = r.length,
                                        .global_visibility = r.global_visibility,
                                        .persistence = r.persistence,
                                        .level = static_cast<queue::FlushLevel>(r.level)};
    return true;
  }

  // A key of another index would not be the window's.
  [[nodiscard]] bool Set(const Bind& r) {
    if (r.window.index() != r.r_key.index()) return false;
    Start(r, queue::SendOpcode::kBindWindow);
    request_.wqe.operand = queue::WindowBind{.window = r.window,
                                             .region = r.region,
                                             .start = r.start,
                                             .length = r.length,
                                             .variant = r.r_key.variant().value(),
                                             .rights = static_cast<uint8_t>(r.access),
                                             .zero_based = r.zero_based,
                                             .one_touch = r.one_touch,
                                             .by_index = r.by_index};
    return true;
  }

  [[nodiscard]] bool Set(const Invalidate& r) {
    Start(r, queue::SendOpcode::kLocalInvalidate);
    request_.wqe.invalidate = r.key;
    return true;
  }

  [[nodiscard]] bool Set(const Register& r) {
    Start(r, queue::SendOpcode::kRegister);
    SetRegistration(r.registration);
    return true;
  }

  [[nodiscard]] bool Set(const RegisterAndSend& r) {
    Start(r, queue::SendOpcode::kRegisterAndSend);
    SetRegistration(r.registration);
    return SetData(r.data);
  }

  [[nodiscard]] bool Set(const Delay& r) {
    if (r.duration.count() < 0) return false;
    Start(r, queue::SendOpcode::kDelay);
    request_.wqe.operand = queue::Delay{.duration = ToAdapter(r.duration)};
    return true;
  }

 private:
  template <class Request>
  void Start(const Request& r, queue::SendOpcode opcode) {
    request_.wqe.id = r.id;
    request_.wqe.opcode = opcode;
    request_.wqe.flags = {.signaled = r.flags.signaled,
                          .solicited = r.flags.solicited,
                          .fence = r.flags.fence,
                          .inlined = r.flags.inlined};
    if constexpr (requires { r.xrc_srq; }) request_.wqe.remote_srq = r.xrc_srq;
  }
  static queue::Remote RemoteOf(const RemoteAddress& remote) {
    return {remote.address, remote.key};
  }
  void SetRegistration(const Registration& r) {
    request_.wqe.operand = queue::Registration{.key = r.key,
                                               .rights = static_cast<uint8_t>(r.access),
                                               .page_shift = r.page_shift,
                                               .zero_based = r.zero_based,
                                               .one_touch = r.one_touch,
                                               .start = r.start,
                                               .length = r.length,
                                               .first_offset = r.first_offset};
    request_.pages = r.pages;
  }

  bool SetData(const SgeList& list) {
    if (!sges_.Set(list)) return false;
    request_.sges = sges_.sges();
    return true;
  }

  queue::SendRequest request_ = {};
  SgeTranslation sges_;
};

}  // namespace verbena::verbs
