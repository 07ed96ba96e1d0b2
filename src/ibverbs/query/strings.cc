// The ibv_*_str functions: texts for the enumerations of the verbs.

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>

namespace verbena::ibverbs {
namespace {

// The text of a value of an enumeration that starts at `first`.
template <size_t kSize>
const char* WordFor(const std::array<const char*, kSize>& words, int value, int first = 0) {
  const int index = value - first;
  return index >= 0 && index < static_cast<int>(kSize) ? words[static_cast<size_t>(index)]
                                                       : "unknown";
}

constexpr std::array kNodeTypes = {
    "InfiniBand channel adapter",
    "InfiniBand switch",
    "InfiniBand router",
    "iWARP NIC",
    "usNIC",
    "usNIC UDP",
    "unspecified",
};

constexpr std::array kPortStates = {
    "no state change (NOP)", "PORT_DOWN",         "PORT_INIT", "PORT_ARMED",
    "PORT_ACTIVE",           "PORT_ACTIVE_DEFER",
};

constexpr std::array kEventTypes = {
    "CQ error",
    "local work queue catastrophic error",
    "invalid request local work queue error",
    "local access violation work queue error",
    "communication established",
    "send queue drained",
    "path migrated",
    "path migration request error",
    "local catastrophic error",
    "port active",
    "port error",
    "LID change",
    "P_Key change",
    "SM change",
    "SRQ catastrophic error",
    "SRQ limit reached",
    "last WQE reached",
    "client reregistration",
    "GID table change",
    "WQ fatal",
};

constexpr std::array kCompletionStatuses = {
    "success",
    "local length error",
    "local QP operation error",
    "local EE context operation error",
    "local protection error",
    "Work Request Flushed Error",
    "memory management operation error",
    "bad response error",
    "local access error",
    "remote invalid request error",
    "remote access error",
    "remote operation error",
    "transport retry counter exceeded",
    "RNR retry counter exceeded",
    "local RDD violation error",
    "remote invalid RD request",
    "aborted error",
    "invalid EE context number",
    "invalid EE context state",
    "fatal error",
    "response timeout error",
    "general error",
    "TM error",
    "TM software rendezvous",
};

}  // namespace
}  // namespace verbena::ibverbs

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): the verbs are global

const char* ibv_node_type_str(ibv_node_type type) { return WordFor(kNodeTypes, type, IBV_NODE_CA); }

const char* ibv_port_state_str(ibv_port_state state) { return WordFor(kPortStates, state); }

const char* ibv_event_type_str(ibv_event_type type) { return WordFor(kEventTypes, type); }

const char* ibv_wc_status_str(ibv_wc_status status) { return WordFor(kCompletionStatuses, status); }
