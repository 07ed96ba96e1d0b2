#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "ibverbs/datapath/send_flags.h"
#include "ibverbs/objects/objects.h"
#include "ibverbs/objects/qp.h"
#include "verbena/work_request.h"

namespace verbena::ibverbs {

// Work requests that a program puts together call by call, from ibv_wr_start to ibv_wr_complete,
// which posts all of them or none. What goes wrong in between is told at the end.
//
// Keeps the room that it once needed, so that in the long run nothing is allocated.
//
// Owned by its queue pair. Thread rule: any thread; from Start to Complete or Abort others wait.
class WorkBuilder {
 public:
  explicit WorkBuilder(const Qp& qp) : qp_(qp) {}
  WorkBuilder(const WorkBuilder&) = delete;
  WorkBuilder& operator=(const WorkBuilder&) = delete;

  // The analysis does not know that who starts will complete or abort.
  void Start() VERBENA_NO_THREAD_SAFETY_ANALYSIS { mutex_.Lock(); }
  void Abort() VERBENA_NO_THREAD_SAFETY_ANALYSIS {
    Clear();
    mutex_.Unlock();
  }
  // 0, or the error number.
  [[nodiscard]] int Complete();

  // --- A request; those that follow say more about it. ---

  template <class Request>
  void Add(Request request) {
    if (!HasRoom()) return;
    request.id = WrId{qp_.wr_id};
    request.flags = ToSendFlags(qp_, qp_.wr_flags & ~unsigned{IBV_SEND_INLINE});
    Grow([&] {
      payloads_.reserve(requests_.size() + 1);
      requests_.emplace_back(std::move(request));
      payloads_.emplace_back();
    });
  }
  void AddBind(Mw& window, uint32_t rkey, const ibv_mw_bind_info& info);

  void SetSges(std::span<const ibv_sge> list);
  void SetInline(std::span<const ibv_data_buf> list);
  void SetDatagram(const Datagram& to);
  void SetXrcSrq(uint32_t number);

 private:
  // Where the data of a request is, in sges_.
  struct Payload {
    size_t first = 0;
    size_t count = 0;
    bool inlined = false;  // the address counts from the begin of bytes_
  };
  struct BoundWindow {
    Mw* window;
    Key key;
  };

  bool HasRoom();
  // Without memory for what `grow` adds, none of the requests is posted.
  template <class Fn>
  void Grow(Fn grow) {
    try {
      grow();
    } catch (const std::bad_alloc&) {
      Refuse(ENOMEM);
    }
  }
  // The first reason is the one that is told.
  void Refuse(int error) {
    if (error_ == 0) error_ = error;
  }
  // The lists may have moved while they grew, so requests learn at the end where they are.
  void Link();
  int Post();
  void Clear();

  const Qp& qp_;
  Mutex mutex_;
  // Guarded by mutex_.
  std::vector<SendRequest> requests_;
  std::vector<Payload> payloads_;  // one a request
  std::vector<Sge> sges_;
  std::vector<std::byte> bytes_;
  std::vector<BoundWindow> windows_;
  int error_ = 0;
};

// Points the functions of ibv_wr_start and what follows it to the queue pair's builder.
void FillWorkFunctions(Qp& qp);

}  // namespace verbena::ibverbs
