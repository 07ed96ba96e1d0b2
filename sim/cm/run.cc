#include "sim/cm/run.h"

#include <algorithm>

#include "base/check.h"

namespace verbena::sim {

using transport::CmManager;
using transport::CmRaisedEvent;
using transport::CmStep;
using verbena::CmEventType;

namespace {

// Far more than any plan needs: a run that exceeds it does not end.
constexpr uint64_t kStepsMax = 2'000'000;

}  // namespace

CmRun::Result CmRun::Run(const CmPlan& plan, const Trace& trace) {
  return CmRun(plan, trace).RunAll();
}

CmRun::CmRun(const CmPlan& plan, const Trace& trace)
    : plan_(plan),
      trace_(trace),
      random_(plan.seed ^ 0xC0441EC7),
      conversations_(plan.conversations),
      oracle_(plan_, conversations_, findings_),
      network_(plan_, random_.Fork(),
               [this](uint32_t to, const IpAddress& from, const CmNetwork::Mad& mad) {
                 Receive(to, from, mad);
               }),
      nodes_(plan.nodes) {}

CmRun::Result CmRun::RunAll() {
  for (uint32_t node = 0; node < plan_.nodes; ++node) Start(node);
  const auto moment = [this] {
    return Time() + Nanoseconds(static_cast<int64_t>(
                        random_.Below(static_cast<uint64_t>(plan_.duration.nanoseconds()))));
  };
  for (uint32_t i = 0; i < plan_.conversations; ++i) {
    conversations_[i].number = i;
    network_.At(moment(), [this, i] { Begin(conversations_[i]); });
  }
  for (uint32_t i = 0; i < plan_.crashes; ++i) {
    const auto node = static_cast<uint32_t>(random_.Below(plan_.nodes));
    network_.At(moment(), [this, node] { Crash(node); });
  }
  network_.At(Time() + plan_.duration, [this] { network_.Heal(); });
  for (uint64_t steps = 0; findings_.empty(); ++steps) {
    Time next = network_.next_time();
    for (const Node& node : nodes_) next = std::min(next, node.manager->next_time());
    if (next == Time::Never()) break;
    CHECK(next >= now_);
    now_ = next;
    Step();
    if (steps > kStepsMax) findings_.Add("liveness", "it does not end");
  }
  if (findings_.empty()) CheckNothingRemains();
  result_.failure = findings_.text();
  result_.datagrams = network_.sent();
  result_.digest ^= network_.digest();
  result_.virtual_time = now_ - Time();
  return result_;
}

void CmRun::Step() {
  while (network_.RunOne(now_)) {
  }
  for (uint32_t node = 0; node < plan_.nodes; ++node) {
    while (nodes_[node].manager->next_time() <= now_) {
      Do(node, [](CmManager& manager, CmStep& step) { return manager.OnTime(step); });
    }
  }
}

void CmRun::CheckNothingRemains() {
  std::vector<uint32_t> lives;
  for (const Node& node : nodes_) {
    lives.push_back(node.life);
    const CmManager& manager = *node.manager;
    if (manager.connection_count() != 0) findings_.Add("leaks", "a connection remains");
    if (manager.half_open_count() != 0) findings_.Add("leaks", "one is half-open for ever");
    if (node.manager->sidr().size() != 0) findings_.Add("leaks", "a SIDR exchange remains");
    if (!manager.IsConsistent()) findings_.Add("leaks", "a manager is not consistent");
    for (uint32_t qp = kFirstQp; qp < node.next_qp; ++qp) {
      if (!manager.IsQpFree(QpNumber(qp))) findings_.Add("leaks", "a QP number remains");
    }
    for (const auto& counters : {node.before, manager.counters()}) {
      result_.refused += counters.refused_backlog + counters.refused_half_open +
                         counters.refused_full + counters.refused_stale;
    }
  }
  oracle_.CheckEnd(lives);
}

void CmRun::Say(uint32_t node, const std::string& text) {
  if (trace_) trace_(ToString(now_ - Time()) + " node " + std::to_string(node) + ": " + text);
}

// A process has the GUID of its machine, and other ids than its predecessor.
void CmRun::Start(uint32_t node) {
  transport::CmOptions options = plan_.options;
  options.ca_guid = wire::CaGuid(0x100 + node);
  options.id_mask = random_.Next32();
  nodes_[node].manager = std::make_unique<CmManager>(options);
  CHECK(nodes_[node].manager->Listen(wire::ServiceId(node), plan_.backlog).has_value());
}

void CmRun::Crash(uint32_t node) {
  Say(node, "crashes");
  nodes_[node].before = nodes_[node].manager->counters();
  ++nodes_[node].life;
  nodes_[node].next_qp = kFirstQp;
  Start(node);
}

// The lowest: numbers are reused as soon as possible.
QpNumber CmRun::FreeQp(Node& node) {
  uint32_t qp = kFirstQp;
  while (!node.manager->IsQpFree(QpNumber(qp))) ++qp;
  node.next_qp = std::max(node.next_qp, qp + 1);
  return QpNumber(qp);
}

void CmRun::Receive(uint32_t to, const IpAddress& from, const CmNetwork::Mad& mad) {
  Do(to, [&](CmManager& manager, CmStep& step) {
    manager.OnDatagram(mad, from, step);
    return true;
  });
}

void CmRun::Count(const CmRaisedEvent& event) {
  ++result_.events;
  result_.digest = (result_.digest ^ event.connection.value() ^ static_cast<uint64_t>(event.type)) *
                   0x9E3779B97F4A7C15;
  if (event.type == CmEventType::kEstablished) ++result_.established;
  if (event.type == CmEventType::kRejected) ++result_.rejected;
  if (event.type == CmEventType::kUnreachable) ++result_.unreachable;
  if (event.type == CmEventType::kDisconnected) ++result_.disconnected;
}

void CmRun::OnEvent(uint32_t node, const CmRaisedEvent& event) {
  Count(event);
  Say(node, std::string("event ") + NameOf(event.type) +
                (event.message ? ", " + ToString(*event.message) : ""));
  switch (event.type) {
    case CmEventType::kConnectRequest:
      if (auto* const known = oracle_.OnConnectRequest(node, nodes_[node].life, event)) {
        return OnRequest(*known, event);
      }
      return OnOutsider(node, event);
    case CmEventType::kSidrRequest:
      return OnSidrRequest(node, event);
    case CmEventType::kSidrResponse:
    case CmEventType::kSidrUnreachable:
      return OnSidrEnd(node, event);
    default:
      break;
  }
  const auto known = oracle_.Find(node, nodes_[node].life, event.connection);
  if (!known) return;  // of an outsider
  oracle_.OnEvent(*known, event);
  React(*known, event);
}

}  // namespace verbena::sim
