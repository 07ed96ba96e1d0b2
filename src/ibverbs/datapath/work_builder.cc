#include "ibverbs/datapath/work_builder.h"

#include <cerrno>
#include <cstring>
#include <variant>

#include "ibverbs/datapath/bind.h"
#include "ibverbs/datapath/numbers.h"
#include "ibverbs/failure.h"
#include "verbena/queue_pair.h"

namespace verbena::ibverbs {
namespace {

template <class Request>
void SetData(Request& request, const SgeList& list) {
  if constexpr (requires { request.data; }) request.data = list;
  if constexpr (requires { request.result; }) request.result = list;
}

WorkBuilder& BuilderOf(ibv_qp_ex* qp) { return *Cast(qp).builder; }

RemoteAddress RemoteOf(uint32_t key, uint64_t address) { return {address, Key{key}}; }

}  // namespace

bool WorkBuilder::HasRoom() {
  if (requests_.size() >= qp_.creation.cap.max_send_wr) Refuse(ENOMEM);
  return error_ == 0;
}

void WorkBuilder::AddBind(Mw& window, uint32_t rkey, const ibv_mw_bind_info& info) {
  const Key wanted = KeyOf(window, rkey);
  const auto bind = ToBind(qp_, window, wanted, info);
  if (!bind) {
    Refuse(ErrnoOf(bind.error()));
    return;
  }
  Add(*bind);
  Grow([&] { windows_.push_back({&window, wanted}); });
}

void WorkBuilder::SetSges(std::span<const ibv_sge> list) {
  if (requests_.empty() || list.size() > qp_.creation.cap.max_send_sge) {
    Refuse(EINVAL);
    return;
  }
  payloads_.back() = {.first = sges_.size(), .count = list.size()};
  Grow([&] {
    for (const ibv_sge& sge : list) sges_.push_back({sge.addr, sge.length, Key{sge.lkey}});
  });
}

void WorkBuilder::SetInline(std::span<const ibv_data_buf> list) {
  size_t length = 0;
  for (const ibv_data_buf& buffer : list) length += buffer.length;
  if (requests_.empty() || length > qp_.creation.cap.max_inline_data) {
    Refuse(EINVAL);
    return;
  }
  payloads_.back() = {.first = sges_.size(), .count = 1, .inlined = true};
  Grow([&] {
    sges_.push_back({bytes_.size(), static_cast<uint32_t>(length), Key{}});
    for (const ibv_data_buf& buffer : list) {
      const auto* const bytes = static_cast<const std::byte*>(buffer.addr);
      bytes_.insert(bytes_.end(), bytes, bytes + buffer.length);
    }
  });
}

void WorkBuilder::SetDatagram(const Datagram& to) {
  Send* const send = requests_.empty() ? nullptr : std::get_if<Send>(&requests_.back());
  if (send == nullptr) {
    Refuse(EINVAL);
    return;
  }
  send->to = to;
}

void WorkBuilder::SetXrcSrq(uint32_t number) {
  if (requests_.empty()) {
    Refuse(EINVAL);
    return;
  }
  std::visit(
      [&](auto& request) {
        if constexpr (requires { request.xrc_srq; }) request.xrc_srq = SrqNumber{Low24(number)};
      },
      requests_.back());
}

void WorkBuilder::Link() {
  for (size_t i = 0; i < requests_.size(); ++i) {
    const Payload& payload = payloads_[i];
    const auto list = std::span(sges_).subspan(payload.first, payload.count);
    if (payload.inlined) list[0].address += reinterpret_cast<uint64_t>(bytes_.data());
    std::visit(
        [&](auto& request) {
          SetData(request, std::span<const Sge>(list));
          request.flags.inlined = payload.inlined;
        },
        requests_[i]);
  }
}

int WorkBuilder::Post() {
  Link();
  const ChainResult posted = qp_.handle.PostChain(requests_, Chain::kAllOrNone);
  if (const int error = Posted("ibv_wr_complete", posted.result); error != 0) return error;
  for (const BoundWindow& bound : windows_) NoteBind(*bound.window, bound.key);
  return 0;
}

int WorkBuilder::Complete() {
  const int error = error_ != 0 ? error_ : Post();
  Abort();
  return error;
}

void WorkBuilder::Clear() {
  requests_.clear();
  payloads_.clear();
  sges_.clear();
  bytes_.clear();
  windows_.clear();
  error_ = 0;
}

namespace {

void FillOperations(ibv_qp_ex& qp) {
  qp.wr_send = [](ibv_qp_ex* q) { BuilderOf(q).Add(Send{}); };
  qp.wr_send_imm = [](ibv_qp_ex* q, __be32 immediate) {
    BuilderOf(q).Add(Send{.immediate = ToImmediate(immediate)});
  };
  qp.wr_send_inv = [](ibv_qp_ex* q, uint32_t key) {
    BuilderOf(q).Add(Send{.invalidate = Key{key}});
  };
  qp.wr_rdma_write = [](ibv_qp_ex* q, uint32_t key, uint64_t address) {
    BuilderOf(q).Add(Write{.remote = RemoteOf(key, address)});
  };
  qp.wr_rdma_write_imm = [](ibv_qp_ex* q, uint32_t key, uint64_t address, __be32 immediate) {
    BuilderOf(q).Add(Write{.remote = RemoteOf(key, address), .immediate = ToImmediate(immediate)});
  };
  qp.wr_rdma_read = [](ibv_qp_ex* q, uint32_t key, uint64_t address) {
    BuilderOf(q).Add(Read{.remote = RemoteOf(key, address)});
  };
  qp.wr_atomic_cmp_swp = [](ibv_qp_ex* q, uint32_t key, uint64_t address, uint64_t compare,
                            uint64_t swap) {
    BuilderOf(q).Add(
        CompareSwap{.remote = RemoteOf(key, address), .compare = compare, .swap = swap});
  };
  qp.wr_atomic_fetch_add = [](ibv_qp_ex* q, uint32_t key, uint64_t address, uint64_t add) {
    BuilderOf(q).Add(FetchAdd{.remote = RemoteOf(key, address), .add = add});
  };
  qp.wr_atomic_write = [](ibv_qp_ex* q, uint32_t key, uint64_t address, const void* bytes) {
    BuilderOf(q).Add(AtomicWrite{.remote = RemoteOf(key, address)});
    const ibv_data_buf data{const_cast<void*>(bytes), sizeof(uint64_t)};
    BuilderOf(q).SetInline({&data, 1});
  };
  qp.wr_local_inv = [](ibv_qp_ex* q, uint32_t key) {
    BuilderOf(q).Add(Invalidate{.key = Key{key}});
  };
  qp.wr_bind_mw = [](ibv_qp_ex* q, ibv_mw* window, uint32_t key, const ibv_mw_bind_info* info) {
    BuilderOf(q).AddBind(Cast(window), key, *info);
  };
}

void FillSetters(ibv_qp_ex& qp) {
  qp.wr_set_sge = [](ibv_qp_ex* q, uint32_t key, uint64_t address, uint32_t length) {
    const ibv_sge sge{.addr = address, .length = length, .lkey = key};
    BuilderOf(q).SetSges({&sge, 1});
  };
  qp.wr_set_sge_list = [](ibv_qp_ex* q, size_t count, const ibv_sge* list) {
    BuilderOf(q).SetSges({list, count});
  };
  qp.wr_set_inline_data = [](ibv_qp_ex* q, void* address, size_t length) {
    const ibv_data_buf data{address, length};
    BuilderOf(q).SetInline({&data, 1});
  };
  qp.wr_set_inline_data_list = [](ibv_qp_ex* q, size_t count, const ibv_data_buf* list) {
    BuilderOf(q).SetInline({list, count});
  };
  qp.wr_set_xrc_srqn = [](ibv_qp_ex* q, uint32_t number) { BuilderOf(q).SetXrcSrq(number); };
  qp.wr_set_ud_addr = [](ibv_qp_ex* q, ibv_ah* handle, uint32_t number, uint32_t q_key) {
    BuilderOf(q).SetDatagram(
        {.handle = Cast(handle).handle.id(), .qp = QpNumber{Low24(number)}, .q_key = QKey{q_key}});
  };
}

}  // namespace

void FillWorkFunctions(Qp& qp) {
  FillOperations(qp);
  FillSetters(qp);
  qp.wr_start = [](ibv_qp_ex* q) { BuilderOf(q).Start(); };
  qp.wr_complete = [](ibv_qp_ex* q) { return BuilderOf(q).Complete(); };
  qp.wr_abort = [](ibv_qp_ex* q) { BuilderOf(q).Abort(); };
}

}  // namespace verbena::ibverbs
