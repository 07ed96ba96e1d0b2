#include "fabric/sctp/sctp_calls.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <usrsctp.h>

#include <algorithm>
#include <cerrno>

#include "base/byte_reader.h"
#include "base/check.h"

namespace verbena::fabric {
namespace {

// Bytes that an association holds in each direction. The first is also the window that peers see:
// it fits the system's default for the buffer of a UDP socket.
constexpr int kReceiveBytes = 128 << 10;
constexpr int kSendBytes = 256 << 10;

// A peer that is gone is noticed within 20 s: user space has nothing that tells of it.
constexpr uint32_t kHeartbeatMs = 2'000;
constexpr uint16_t kRetransmissionsMax = 5;
constexpr uint32_t kRtoInitialMs = 200;
constexpr uint32_t kRtoMinMs = 50;
constexpr uint32_t kRtoMaxMs = 2'000;
constexpr uint32_t kSackDelayMs = 20;
constexpr uint32_t kSackEvery = 2;  // packets

// Bytes of a packet: more than a segment of the adapter's default size needs.
constexpr size_t kPacketMax = 32'800;

template <class T>
bool Set(UsrSocket* socket, int level, int option, const T& value) {
  return usrsctp_setsockopt(socket, level, option, &value, sizeof value) == 0;
}

template <class T>
bool SetSctp(UsrSocket* socket, int option, const T& value) {
  return Set(socket, IPPROTO_SCTP, option, value);
}

void SetAbortOnClose(UsrSocket* socket, bool aborts) {
  Set(socket, SOL_SOCKET, SO_LINGER, linger{.l_onoff = aborts ? 1 : 0, .l_linger = 0});
}

std::optional<sctp_status> StatusOf(const SctpHub::Association& association) {
  if (association.socket == nullptr || association.is_listener) return std::nullopt;
  sctp_status status{};
  socklen_t size = sizeof status;
  if (usrsctp_getsockopt(association.socket, IPPROTO_SCTP, SCTP_STATUS, &status, &size) != 0) {
    return std::nullopt;
  }
  return status;
}

void SetTimes(UsrSocket* socket) {
  SetSctp(socket, SCTP_RTOINFO,
          sctp_rtoinfo{.srto_assoc_id = SCTP_FUTURE_ASSOC,
                       .srto_initial = kRtoInitialMs,
                       .srto_max = kRtoMaxMs,
                       .srto_min = kRtoMinMs});
  sctp_assocparams association{};
  association.sasoc_assoc_id = SCTP_FUTURE_ASSOC;
  association.sasoc_asocmaxrxt = kRetransmissionsMax;
  SetSctp(socket, SCTP_ASSOCINFO, association);
  SetSctp(
      socket, SCTP_DELAYED_SACK,
      sctp_sack_info{
          .sack_assoc_id = SCTP_FUTURE_ASSOC, .sack_delay = kSackDelayMs, .sack_freq = kSackEvery});
}

// A multiple of four: chunks are padded.
size_t SizeOn(const SctpPath& path) {
  return std::min(SctpPort::DatagramMax(path), kPacketMax) / 4 * 4;
}

// Heartbeats, and the size of packets: of an association, or of those that the socket will have.
void SetPath(const SctpHub::Association& association) {
  constexpr size_t kCommonHeader = 12;  // which the library adds
  sctp_paddrparams path{};
  path.spp_assoc_id = SCTP_FUTURE_ASSOC;
  path.spp_hbinterval = kHeartbeatMs;
  path.spp_pathmaxrxt = kRetransmissionsMax;
  path.spp_flags = SPP_HB_ENABLE;
  if (association.datagram_max > 0) {
    path.spp_flags |= SPP_PMTUD_DISABLE;
    path.spp_pathmtu = static_cast<uint32_t>(association.datagram_max - kCommonHeader);
  }
  SetSctp(association.socket, SCTP_PEER_ADDR_PARAMS, path);
}

}  // namespace

UsrSocket* OpenSocket(const SctpHub::Association& association, uint16_t port) {
  UsrSocket* const socket =
      usrsctp_socket(AF_CONN, SOCK_STREAM, IPPROTO_SCTP, nullptr, nullptr, 0, nullptr);
  if (socket == nullptr) return nullptr;
  usrsctp_set_non_blocking(socket, 1);
  Set(socket, SOL_SOCKET, SO_RCVBUF, kReceiveBytes);
  Set(socket, SOL_SOCKET, SO_SNDBUF, kSendBytes);
  SetAbortOnClose(socket, false);
  SetSctp(socket, SCTP_NODELAY, int{1});
  SetSctp(socket, SCTP_RECVRCVINFO, int{1});
  SetSctp(socket, SCTP_PARTIAL_DELIVERY_POINT, uint32_t{kReceiveBytes});
  SetSctp(socket, SCTP_ADAPTATION_LAYER, sctp_setadaptation{association.adaptation});
  SetSctp(socket, SCTP_EVENT,
          sctp_event{
              .se_assoc_id = SCTP_FUTURE_ASSOC, .se_type = SCTP_ADAPTATION_INDICATION, .se_on = 1});
  SetSctp(socket, SCTP_INITMSG,
          sctp_initmsg{.sinit_num_ostreams = 1,
                       .sinit_max_instreams = 1,
                       .sinit_max_attempts = kRetransmissionsMax,
                       .sinit_max_init_timeo = kRtoMaxMs});
  SetTimes(socket);
  sockaddr_conn at{};
  at.sconn_family = AF_CONN;
  at.sconn_port = BigEndian(port);
  if (usrsctp_bind(socket, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0) return socket;
  const int error = errno;
  usrsctp_close(socket);
  errno = error;
  return nullptr;
}

void Abort(UsrSocket* socket) {
  usrsctp_set_upcall(socket, nullptr, nullptr);
  SetAbortOnClose(socket, true);
  usrsctp_close(socket);
}

void AdoptPath(SctpHub::Association& association) {
  SctpStack& stack = SctpStack::Get();
  stack.AssertHeld();
  association.path = *stack.PathOf(association.link);
  association.datagram_max = SizeOn(association.path);
  usrsctp_set_non_blocking(association.socket, 1);
  SetPath(association);
  ReportEvents(association);
}

void PrepareFor(SctpHub::Association& listener, const SctpPath& path) {
  listener.datagram_max = SizeOn(path);
  SetPath(listener);
}

bool HasWanted(const SctpHub::Association& association) {
  const Interest wanted = association.wanted;
  if (association.is_listener) return wanted.reads && !association.accepted.empty();
  if (association.is_refused || association.is_broken || association.has_ended) {
    return wanted.reads || wanted.writes;
  }
  if (wanted.reads && association.has_more) return true;
  const int events = usrsctp_get_events(association.socket);
  return (wanted.reads && (events & (SCTP_EVENT_READ | SCTP_EVENT_ERROR)) != 0) ||
         (wanted.writes && !association.is_blocked &&
          (events & (SCTP_EVENT_WRITE | SCTP_EVENT_ERROR)) != 0);
}

bool IsAlive(const SctpHub::Association& association) { return StatusOf(association).has_value(); }

bool IsEstablished(const SctpHub::Association& association) {
  const auto status = StatusOf(association);
  return status && status->sstat_state >= SCTP_ESTABLISHED;
}

bool HasUnacknowledged(const SctpHub::Association& association) {
  const auto status = StatusOf(association);
  return status && status->sstat_unackdata + status->sstat_penddata > 0;
}

}  // namespace verbena::fabric
