#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "adapter/control/adapter.h"
#include "base/mutex.h"
#include "memory/access.h"
#include "verbena/error.h"
#include "verbena/numbers.h"
#include "verbena/options.h"
#include "verbs/bind_registry.h"

// The objects behind the handles of include/verbena. Each shares the ownership of the objects that
// it depends on, so that those are destroyed after it.
//
// Invariant: until an object has ended, its object in the adapter exists. The object here is
// created first, with a null pointer, so that an object in the adapter always has an owner even if
// memory runs out. End makes the adapter destroy its object, which may fail; the destructor calls
// End if no call did.
//
// Thread rule: immutable, except for End, which the last user calls, and where noted.

namespace verbena::verbs {

using Ended = ErrorOr<void>;

// For destructors, which cannot report an error.
template <class Object>
void EndQuietly(Object& object) noexcept {
  try {
    static_cast<void>(object.End());
  } catch (const std::bad_alloc&) {  // of an error text
  }
}

// The id of a queue in the API; 0 for none.
[[nodiscard]] inline CqId IdOf(const adapter::Cq* cq) {
  return CqId{reinterpret_cast<uintptr_t>(cq)};
}
[[nodiscard]] inline SrqId IdOf(const adapter::Srq* srq) {
  return SrqId{reinterpret_cast<uintptr_t>(srq)};
}

// Shared by the objects of a context. Each context has asynchronous events of its own, and may
// share the adapter with others.
struct ContextObject {
  ContextObject(std::shared_ptr<adapter::Adapter> on, const Options& with)
      : device(std::move(on)), options(with) {}
  ContextObject(const ContextObject&) = delete;
  ContextObject& operator=(const ContextObject&) = delete;
  ~ContextObject() {
    if (events != nullptr) static_cast<void>(device->Destroy(events));
  }

  const std::shared_ptr<adapter::Adapter> device;
  const Options options;
  adapter::EventQueue* events = nullptr;  // set before other threads can use the context
};

// Owned by the handle of a context alone; objects that outlive the handle share only the
// ContextObject. Without the handle events cannot be read, so their file is closed with it.
struct OpenContext {
  explicit OpenContext(std::shared_ptr<ContextObject> opened) : context(std::move(opened)) {}
  OpenContext(const OpenContext&) = delete;
  OpenContext& operator=(const OpenContext&) = delete;
  ~OpenContext() { context->events->Close(); }

  const std::shared_ptr<ContextObject> context;
};

struct PdObject {
  explicit PdObject(std::shared_ptr<ContextObject> with)
      : context(std::move(with)), device(*context->device) {}
  PdObject(const PdObject&) = delete;
  PdObject& operator=(const PdObject&) = delete;
  ~PdObject() { EndQuietly(*this); }

  void Name(memory::PdId made) {
    id = made;
    has_ended = false;
  }

  Ended End() {
    if (has_ended) return {};
    const Ended ended = device.DeallocatePd(id);
    has_ended = ended.has_value();
    return ended;
  }

  const std::shared_ptr<ContextObject> context;
  adapter::Adapter& device;
  memory::PdId id;
  BindRegistry windows;  // any thread
  bool has_ended = true;
};

// An object with a pointer to its object in the adapter, which is null before that is created and
// after it has ended.
template <class Thing, class Base>
struct HandleBase {
  HandleBase(std::shared_ptr<Base> on, adapter::Adapter& of) : base(std::move(on)), device(of) {}
  HandleBase(const HandleBase&) = delete;
  HandleBase& operator=(const HandleBase&) = delete;
  ~HandleBase() { EndQuietly(*this); }

  Ended End() {
    if (thing == nullptr) return {};
    const Ended ended = device.Destroy(thing);
    if (ended.has_value()) thing = nullptr;
    return ended;
  }

  const std::shared_ptr<Base> base;
  adapter::Adapter& device;
  Thing* thing = nullptr;
};

struct ChannelObject : HandleBase<adapter::CompletionChannel, ContextObject> {
  using HandleBase::HandleBase;
};

// `channel` is declared in a base so that it outlives the queue.
struct ChannelShare {
  std::shared_ptr<ChannelObject> channel;
};
struct CqObject : ChannelShare, HandleBase<adapter::Cq, ContextObject> {
  CqObject(std::shared_ptr<ContextObject> context, std::shared_ptr<ChannelObject> with)
      : ChannelShare{std::move(with)}, HandleBase(context, *context->device) {}
};

struct XrcDomainObject : HandleBase<adapter::XrcDomain, ContextObject> {
  using HandleBase::HandleBase;
};

struct ManagedMemoryObject : HandleBase<odp::ManagedArena, ContextObject> {
  using HandleBase::HandleBase;
};

// The XRC domain and completion queue of an XRC shared receive queue, or the completion queue of
// one with tag matching. Empty otherwise.
struct XrcOwners {
  std::shared_ptr<XrcDomainObject> xrc;
  std::shared_ptr<CqObject> cq;
};
struct SrqObject : XrcOwners, HandleBase<adapter::Srq, PdObject> {
  SrqObject(std::shared_ptr<PdObject> pd, XrcOwners shares)
      : XrcOwners(std::move(shares)), HandleBase(pd, pd->device) {}
};

// Null for queues that the queue pair does not have.
struct QueueOwners {
  std::shared_ptr<CqObject> send_cq = {};
  std::shared_ptr<CqObject> receive_cq = {};
  std::shared_ptr<SrqObject> srq = {};
  std::shared_ptr<XrcDomainObject> xrc = {};
};
struct QpObject : QueueOwners, HandleBase<adapter::QueuePair, PdObject> {
  QpObject(std::shared_ptr<PdObject> pd, QueueOwners queues)
      : QueueOwners(std::move(queues)), HandleBase(pd, pd->device) {}
  ~QpObject();

  [[nodiscard]] ErrorOr<void> JoinGroup(const IpAddress& group) VERBENA_EXCLUDES(groups_mutex);
  [[nodiscard]] ErrorOr<void> LeaveGroup(const IpAddress& group) VERBENA_EXCLUDES(groups_mutex);

  Mutex groups_mutex;
  std::vector<IpAddress> groups VERBENA_GUARDED_BY(groups_mutex);
};

struct AddressHandleObject {
  explicit AddressHandleObject(std::shared_ptr<PdObject> on) : pd(std::move(on)) {}
  AddressHandleObject(const AddressHandleObject&) = delete;
  AddressHandleObject& operator=(const AddressHandleObject&) = delete;
  ~AddressHandleObject() { EndQuietly(*this); }

  void Name(AddressHandleId made) {
    id = made;
    has_ended = false;
  }

  Ended End() {
    if (has_ended) return {};
    const Ended ended = pd->device.DestroyAddressHandle(id);
    has_ended = ended.has_value();
    return ended;
  }

  const std::shared_ptr<PdObject> pd;
  AddressHandleId id;
  bool has_ended = true;
};

}  // namespace verbena::verbs
