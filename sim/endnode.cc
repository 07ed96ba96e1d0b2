#include "sim/endnode.h"

#include <numeric>

#include "base/check.h"

namespace verbena::sim {
namespace {

constexpr Access kLocal = Access::kLocalRead | Access::kLocalWrite;
// The maximum number of pages of a slot.
constexpr uint32_t kGrantedPagesMax = 3;

std::vector<uint32_t> AllSlots(uint32_t count) {
  std::vector<uint32_t> slots(count);
  std::iota(slots.begin(), slots.end(), 0);
  return slots;
}

queue::WorkQueueLimits SendLimits() {
  return {.capacity = 32, .sges_max = 3, .inline_max = 64, .pages_max = kGrantedPagesMax};
}

PathMtu MtuOf(uint32_t bytes) {
  auto mtu = PathMtu::k256;
  while (BytesOf(mtu) < bytes) {
    mtu = static_cast<PathMtu>(static_cast<unsigned>(mtu) + 1);
  }
  return mtu;
}

wire::AckTimeout TimeoutOf(Duration duration) {
  uint8_t code = 1;
  while (wire::DurationOf(wire::AckTimeout(code)) < duration) ++code;
  return wire::AckTimeout(code);
}

adapter::AdapterOptions OptionsOf(const Swarm& swarm, uint32_t node) {
  adapter::AdapterOptions options;
  options.identity_seed = (swarm.seed ^ (uint64_t{node} << 32)) | 1;
  options.key_slots_max = swarm.key_slots_max;
  options.key_seed = options.identity_seed * 3;
  return options;
}

std::unique_ptr<adapter::CompletionChannel> MakeChannel() {
  return std::make_unique<adapter::CompletionChannel>(std::move(*verbena::EventFile::Open(true)));
}

IpAddress IpOf(const Swarm& swarm, uint32_t node) {
  return IpAddress::FromIpv4(Network::AddressOf(swarm, node));
}

IpAddress GroupIp(uint32_t group) { return IpAddress::FromIpv4(Network::GroupAt(group)); }

}  // namespace

Endnode::Endnode(const EndnodeContext& context, uint32_t node, Random& random)
    : Endnode(context, node, random,
              std::make_unique<Port>(context.swarm, node, context.clock, context.network,
                                     context.tap)) {}

Endnode::Endnode(const EndnodeContext& context, uint32_t node, Random& random,
                 std::unique_ptr<Port> with)
    : number(node),
      swarm(context.swarm),
      clock(context.clock),
      address({IpOf(swarm, node).bytes}),
      event_queue(events.Add(std::move(*verbena::EventFile::Open(true)), 4096)),
      port(with.get()),
      pager(swarm, node, random.Fork(), context.clock, context.network),
      engine(OptionsOf(swarm, node), std::move(with), std::move(*adapter::Alarm::Make()), events,
             pager, context.clock, address),
      core(engine.memory) {
  const adapter::EngineLock lock(engine);
  consumer = *core.consumers.Open({});
  pd = *core.domains.Allocate(consumer);
  for (uint32_t i = 0; i < swarm.endnodes; ++i) {
    paths.push_back(
        *engine.paths.Add({.source = IpOf(swarm, number), .destination = IpOf(swarm, i)}));
    engine.handles.Add(AddressHandleId(i), pd, paths.back());
  }
  for (uint32_t i = 0; i < swarm.groups; ++i) {
    const auto path = engine.paths.Add({.source = IpOf(swarm, number), .destination = GroupIp(i)});
    engine.handles.Add(HandleOf(i), pd, *path);
  }
  counters = MakeGuardedMemory({.bytes = kPage, .rights = kLocal | Access::kRemoteAtomic}, random);
  counters->Store(0, std::vector<std::byte>(kCounters * sizeof(uint64_t)));
  // The oracle of atomics checks their values.
  counters->Allow(1, 0, std::vector<std::byte>(kCounters * sizeof(uint64_t)), true);
  atomics.resize(kCounters);
  if (!swarm.shared_receives) return;
  const uint64_t bytes = uint64_t{SharedReceives::SlotsOf(swarm)} * swarm.slot_bytes;
  shared = std::make_unique<SharedReceives>(
      swarm, number, pd, event_queue,
      MakeGuardedMemory({.bytes = bytes, .rights = kLocal}, random));
}

void Endnode::Pass(const adapter::Cq* cq) {
  if (cq != nullptr) {
    static_cast<void>(engine.Progress(*cq));
    return;
  }
  const adapter::EngineLock lock(engine);
  engine.Pass();
}

void Endnode::Kick(adapter::QueuePair& qp, bool polls) {
  const queue::WqeNumber last(qp.send_queue().end().value() - 1);
  polls ? engine.KickSmall(qp, last) : engine.Kick(qp);
}

bool Endnode::has_work() {
  const adapter::EngineLock lock(engine);
  return engine.has_work() || port->has_waiting();
}

Time Endnode::next_time() {
  const adapter::EngineLock lock(engine);
  return engine.next_time();
}

std::optional<adapter::Event> Endnode::TakeEvent() { return event_queue->TryWait(); }

adapter::QueuePair& Endnode::MakeQp(const QpOrder& order) {
  const adapter::EngineLock lock(engine);
  const adapter::QpInit spec{.type = order.type,
                             .pd = pd,
                             .send_cq = order.send_cq,
                             .receive_cq = order.receive_cq,
                             .srq = order.srq,
                             .xrc_domain = order.xrc_domain,
                             .events = event_queue,
                             .send = order.send,
                             .receive = order.receive,
                             .registration = order.registration};
  const adapter::QpContext context{.handles = &engine.handles,
                                   .port_mtu = swarm.path_mtu,
                                   .page_service_estimate = swarm.page_service_estimate};
  return engine.AddQp(
      std::make_unique<adapter::QueuePair>(*engine.qps.NextNumber(), spec, context));
}

void Endnode::Connect(adapter::QueuePair& qp, Psn first_psn, const std::optional<Peer>& peer) {
  const adapter::EngineLock lock(engine);
  const transport::RdAtomicDepth depth(static_cast<uint8_t>(swarm.depth));
  transport::QpSettings attributes;
  attributes.access = Access::kRemote;
  attributes.q_key = kQKey;
  attributes.path_mtu = MtuOf(swarm.path_mtu);
  attributes.timeout = TimeoutOf(swarm.ack_timeout);
  attributes.retry_count = transport::RetryCount(static_cast<uint8_t>(swarm.retry_count));
  attributes.rnr_retry = transport::RnrRetryCount(static_cast<uint8_t>(swarm.rnr_retry));
  attributes.max_rd_atomic = attributes.max_dest_rd_atomic = depth;
  attributes.min_rnr_timer = wire::RnrTimerAtLeast(swarm.rnr_timer);
  attributes.sq_psn = first_psn;
  if (peer) {
    attributes.path = paths[peer->node];
    attributes.peer_is_here = engine.paths.Find(attributes.path)->ends_here;
    attributes.rq_psn = peer->first_psn;
    attributes.remote_qp = peer->number;
    qp.set_path(engine.paths.Find(attributes.path)->vector);
  }
  for (const QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
    attributes.state = state;
    engine.ModifyQp(qp, attributes, transport::AttributeMask::kAll);
  }
}

void Endnode::Modify(adapter::QueuePair& qp, QpState state) {
  const adapter::EngineLock lock(engine);
  transport::QpSettings attributes;
  attributes.state = state;
  attributes.sqd_notify = true;
  transport::AttributeMask mask = transport::QpAttribute::kState;
  if (state == QpState::kSqd) mask = mask | transport::QpAttribute::kSqdNotify;
  if (qp.CheckModify(attributes, mask)) engine.ModifyQp(qp, attributes, mask);
}

adapter::Cq* Endnode::PassFor(adapter::CompletionChannel& channel) {
  const adapter::EngineLock lock(engine);
  channel.Expect();
  engine.PassFor(channel);
  return channel.TakeExpected();
}

// As Adapter::AttachMulticast does.
void Endnode::Attach(const adapter::QueuePair& qp, uint32_t group) {
  const adapter::EngineLock lock(engine);
  const bool is_first = engine.groups.MembersOf(GroupIp(group)).empty();
  CHECK(engine.groups.Attach(GroupIp(group), qp.number()).has_value());
  if (is_first) CHECK(port->Join({GroupIp(group).bytes}).has_value());
}

void Endnode::Detach(const adapter::QueuePair& qp, uint32_t group) {
  const adapter::EngineLock lock(engine);
  CHECK(engine.groups.Detach(GroupIp(group), qp.number()).has_value());
  if (engine.groups.MembersOf(GroupIp(group)).empty()) port->Leave({GroupIp(group).bytes});
}

void Endnode::RemoveQp(adapter::QueuePair& qp) {
  const adapter::EngineLock lock(engine);
  engine.RemoveQp(qp);
}

void Endnode::RemoveCq(adapter::Cq& cq) {
  const adapter::EngineLock lock(engine);
  engine.RemoveCq(cq);
}

QpNumber Endnode::NextNumber() {
  const adapter::EngineLock lock(engine);
  return *engine.qps.NextNumber();
}

void Endnode::SkipNumber() {
  adapter::Cq unused(1, nullptr);
  RemoveQp(MakeQp({.send_cq = &unused, .receive_cq = &unused}));
}

std::unique_ptr<GuardedMemory> Endnode::MakeGuardedMemory(const GuardedMemory::Options& options,
                                                          Random& random) {
  auto guarded = std::make_unique<GuardedMemory>(core, pd, options, random);
  pager.Add(guarded->keys().local, *guarded, 0, Paging::Kind::kLinear);
  access.Add(guarded->keys().remote,
             {.start = GuardedMemory::kBase, .length = guarded->size(), .rights = options.rights});
  return guarded;
}

bool Endnode::Deregister(GuardedMemory& guarded) {
  if (!guarded.Deregister(core)) return false;
  pager.Remove(guarded.keys().local);
  access.Remove(guarded.keys().remote);
  return true;
}

void Endnode::Release(GuardedMemory& guarded) {
  CHECK(!guarded.is_registered() || Deregister(guarded));
}

void Endnode::Close(Findings& findings) {
  for (uint32_t i = 0; i < kCounters; ++i) {
    uint64_t value = 0;
    std::memcpy(&value, counters->At(i * sizeof value), sizeof value);
    atomics[i].Check(value, findings);
  }
  counters->shadow().Check(findings);
  Release(*counters);
  if (shared) {
    shared->pool().guarded()->shadow().Check(findings);
    if (!is_dead) shared->CheckEnd(findings);
    Release(*shared->pool().guarded());
  }
  if (!core.domains.Deallocate(pd).has_value() || !core.consumers.Close(consumer).has_value()) {
    findings.Add("leaks", "something still belongs to a protection domain");
  }
}

Side::Side(const Swarm& swarm, Endnode& endnode, Random& random)
    : node(&endnode),
      local(endnode.MakeGuardedMemory({.bytes = uint64_t{swarm.slots} * swarm.slot_bytes,
                                       .rights = kLocal,
                                       .can_vanish = swarm.unmapping > 0},
                                      random)),
      // One slot more than is handed out: its last bytes are a word for atomics.
      exposed(endnode.MakeGuardedMemory({.bytes = uint64_t{swarm.slots + 1} * swarm.slot_bytes,
                                         .rights = kLocal | Access::kRemote | Access::kWindowBind,
                                         .can_vanish = swarm.unmapping > 0},
                                        random)),
      channel(swarm.sleepers ? MakeChannel() : nullptr),
      send_cq(swarm.cq_capacity, channel.get(), endnode.event_queue),
      receive_cq(swarm.cq_capacity, channel.get(), endnode.event_queue),
      qp(&endnode.MakeQp({.type = QpType::kRc,
                          .send_cq = &send_cq,
                          .receive_cq = &receive_cq,
                          .srq = endnode.srq(),
                          .send = SendLimits(),
                          .receive = {.capacity = swarm.slots, .sges_max = ReceivePool::kSges}})),
      free_local(AllSlots(swarm.slots)),
      free_exposed(AllSlots(swarm.slots)),
      faults(swarm) {
  number = qp->number();
  if (channel) {
    send_cq.ArmForEvent(adapter::Cq::Wanted::kAll);
    receive_cq.ArmForEvent(adapter::Cq::Wanted::kAll);
  }
  if (node->shared) return;
  own_pool = ReceivePool(node->MakeGuardedMemory({.bytes = uint64_t{swarm.slots} * swarm.slot_bytes,
                                                  .rights = kLocal,
                                                  .can_vanish = swarm.unmapping > 0},
                                                 random),
                         swarm.slots, swarm.slot_bytes, false);
}

GrantedKey* Side::FindGranted(uint64_t id) {
  for (const auto& granted : granted_keys) {
    if (granted->id == id) return granted.get();
  }
  return nullptr;
}

bool Side::Looks(ProgramCq& cq, Time now) {
  if (cq.is_neglected(now)) return false;
  if (!channel) return true;
  while (const adapter::Cq* const raised = channel->TryWait())
    has_event[raised == &receive_cq] = true;
  if (!std::exchange(has_event[&cq == &receive_cq], false)) return false;
  cq.ArmForEvent(adapter::Cq::Wanted::kAll);
  return true;
}

void Side::Crash() {
  node->RemoveQp(*qp);
  qp = nullptr;
}

void Side::Release() {
  if (qp != nullptr) Crash();
  node->RemoveCq(send_cq);
  node->RemoveCq(receive_cq);
  for (const auto& granted : granted_keys) ReleaseGranted(*granted);
  granted_keys.clear();
  node->Release(*local);
  node->Release(*exposed);
  if (own_pool.guarded() != nullptr) node->Release(*own_pool.guarded());
}

void Side::ReleaseGranted(const GrantedKey& granted) {
  const auto take = [&](Key key) {
    return granted.is_window() ? node->core.windows.Deallocate(key).has_value()
                               : node->core.regions.Deregister(key).has_value();
  };
  node->access.Remove(granted.key);
  node->access.Remove(granted.next_key);
  node->pager.Remove(granted.key);
  if (granted.kind == GrantedKey::Kind::kRegion && granted.state == GrantedKey::State::kFree)
    return;
  // A flushed bind or registration may have been executed.
  CHECK(take(granted.key) || take(granted.next_key));
}

}  // namespace verbena::sim
