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

// Collects the work requests that a program builds call by call between ibv_wr_start and
// ibv_wr_complete, which posts all of them or none. The calls in between return nothing: Complete
// reports their first error.
//
// The vectors keep their capacity, so a builder in steady state allocates nothing.
//
// Owned by its queue pair. Thread rule: any thread. Start locks, and other threads wait until
// Complete or Abort.
class WorkBuilder {
 public:
  explicit WorkBuilder(const Qp& qp) : qp_(qp) {}
  WorkBuilder(const WorkBuilder&) = delete;
  WorkBuilder& operator=(const WorkBuilder&) = delete;

  // Locks here and unlocks in Complete or Abort, which thread safety analysis cannot follow.
  void Start() VERBENA_NO_THREAD_SAFETY_ANALYSIS { mutex_.Lock(); }
  void Abort() VERBENA_NO_THREAD_SAFETY_ANALYSIS {
    Clear();
    mutex_.Unlock();
  }
  // 0, or an error number.
  [[nodiscard]] int Complete();

  // --- Adding a request; the Set functions below complete the one that was added last. ---

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
  // The elements of sges_ that a request has.
  struct Payload {
    size_t first = 0;
    size_t count = 0;
    bool inlined = false;  // the address is an offset in bytes_ until Link
  };
  struct BoundWindow {
    Mw* window;
    Key key;
  };

  bool HasRoom();
  // Runs `grow`. If it runs out of memory, Complete posts none of the requests.
  template <class Fn>
  void Grow(Fn grow) {
    try {
      grow();
    } catch (const std::bad_alloc&) {
      Refuse(ENOMEM);
    }
  }
  // Complete reports the first error.
  void Refuse(int error) {
    if (error_ == 0) error_ = error;
  }
  // Points the requests to their data. Called last, because the vectors move as they grow.
  void Link();
  int Post();
  void Clear();

  const Qp& qp_;
  Mutex mutex_;
  // Guarded by mutex_.
  std::vector<SendRequest> requests_;
  std::vector<Payload> payloads_;  // one per request
  std::vector<Sge> sges_;
  std::vector<std::byte> bytes_;
  std::vector<BoundWindow> windows_;
  int error_ = 0;
};

// Sets ibv_wr_start and the other ibv_wr_* functions of the queue pair, which use its builder.
void FillWorkFunctions(Qp& qp);

}  // namespace verbena::ibverbs
