#include "fabric/sctp/sctp_socket.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <usrsctp.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/byte_reader.h"
#include "base/check.h"
#include "fabric/sctp/sctp_association.h"
#include "fabric/sctp/sctp_calls.h"

namespace verbena::fabric {
namespace {

using End = TcpTransfer::End;

// RFC 9260, 3.1 and 3.3.1: the common header, and the header of a DATA chunk.
constexpr size_t kPacketHeaders = 12 + 16;
constexpr int kBacklog = 64;

bool IsBlocked(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

SctpSocket::SctpSocket() = default;
SctpSocket::SctpSocket(std::unique_ptr<State> state) : state_(std::move(state)) {}
SctpSocket::SctpSocket(SctpSocket&&) noexcept = default;
SctpSocket& SctpSocket::operator=(SctpSocket&& other) noexcept {
  Close();
  state_ = std::move(other.state_);
  return *this;
}
SctpSocket::~SctpSocket() { Close(); }

ErrorOr<SctpSocket> SctpSocket::Bind(SctpHub& hub, const CmAddress& address, uint32_t adaptation,
                                     const SctpBindOptions& options) {
  const SctpLock lock(SctpStack::Get());
  std::shared_ptr<SctpPort> port = hub.FindLeft(address);
  hub.associations_.reserve(hub.associations_.size() + 1);
  if (port != nullptr) {
    hub.AddUser(*port);
  } else {
    auto opened = SctpPort::Open(address, options);
    if (!opened) return Fail(opened.error());
    port = std::move(*opened);
    if (const auto added = hub.AddPort(port); !added) return Fail(added.error());
  }
  auto state = std::make_unique<State>(hub, std::move(port), adaptation);
  hub.associations_.push_back(state.get());
  hub.ports_.at(state->port->fd()).owner = state.get();
  const uint16_t number = state->port->local().port;
  state->socket = OpenSocket(*state, number);
  if (state->socket == nullptr) {
    const Error error = SystemError("cannot use SCTP port " + std::to_string(number));
    SctpHub::Destroy(*state);
    return Fail(error);
  }
  return SctpSocket(std::move(state));
}

void SctpSocket::Close() {
  if (state_ == nullptr) return;
  const SctpLock lock(SctpStack::Get());
  SctpHub& hub = state_->hub;
  const bool is_graceful = !state_->is_listener && !state_->is_broken && !state_->is_refused &&
                           IsEstablished(*state_) &&
                           usrsctp_shutdown(state_->socket, SHUT_RDWR) == 0;
  if (is_graceful && IsAlive(*state_)) return hub.EndLater(std::move(state_));
  SctpHub::Destroy(*state_);
  state_.reset();
}

void SctpSocket::Watch(ReadyId id, Interest wanted, bool has_more) {
  const SctpLock lock(SctpStack::Get());
  state_->id = id;
  state_->wanted = wanted;
  state_->has_more = has_more;
  if (HasWanted(*state_)) state_->hub.Push(*state_);
}

ErrorOr<void> SctpSocket::Listen() {
  const SctpLock lock(SctpStack::Get());
  state_->is_listener = true;
  if (usrsctp_listen(state_->socket, kBacklog) != 0) {
    return Fail(SystemError("cannot listen on an SCTP port"));
  }
  state_->hub.ports_.at(state_->port->fd()).listener = state_.get();
  return {};
}

std::optional<SctpSocket> SctpSocket::Accept() {
  const SctpLock lock(SctpStack::Get());
  if (state_->accepted.empty()) return std::nullopt;
  SctpSocket accepted(std::move(state_->accepted.front()));
  state_->accepted.pop_front();
  if (!state_->accepted.empty()) state_->hub.Push(*state_);
  return accepted;
}

ErrorOr<void> SctpSocket::Connect(const CmAddress& to) {
  SctpStack& stack = SctpStack::Get();
  const SctpLock lock(stack);
  if (const auto connected = state_->port->ConnectTo(to); !connected) return connected;
  const SctpPath path{
      .peer = {to.ip, to.port}, .local = state_->port->local().ip, .interface = to.interface};
  const SctpLinkId link = stack.IdOf(*state_->port, path);
  if (!stack.AddLink(link, state_->port, path)) return Fail(SystemError("cannot connect"));
  state_->link = link;
  state_->hub.ports_.at(state_->port->fd()).connector = state_.get();
  AdoptPath(*state_);
  sockaddr_conn there{};
  there.sconn_family = AF_CONN;
  there.sconn_port = BigEndian(to.port);
  there.sconn_addr = reinterpret_cast<void*>(link.value());
  state_->hub.last_traffic_ = state_->hub.now_;
  if (usrsctp_connect(state_->socket, reinterpret_cast<sockaddr*>(&there), sizeof there) == 0 ||
      errno == EINPROGRESS) {
    return {};
  }
  return Fail(SystemError("cannot connect by SCTP"));
}

int SctpSocket::ConnectError() const {
  const SctpLock lock(SctpStack::Get());
  if (state_->is_refused) return ECONNREFUSED;
  if (IsEstablished(*state_)) return 0;
  if (IsAlive(*state_)) return EINPROGRESS;
  int error = 0;
  socklen_t size = sizeof error;
  usrsctp_getsockopt(state_->socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? ECONNREFUSED : error;
}

SctpMessage SctpSocket::Receive(std::span<std::byte> into) {
  CHECK(into.size() >= kMessageMax);
  const SctpLock lock(SctpStack::Get());
  if (state_->is_broken) return {.end = End::kBroken};
  for (;;) {
    sctp_rcvinfo info{};
    sockaddr_conn from{};
    socklen_t from_size = sizeof from;
    socklen_t info_size = sizeof info;
    unsigned int info_type = SCTP_RECVV_NOINFO;
    int flags = 0;
    const ssize_t count =
        usrsctp_recvv(state_->socket, into.data(), into.size(), reinterpret_cast<sockaddr*>(&from),
                      &from_size, &info, &info_size, &info_type, &flags);
    // What came before the peer's port was closed is left to be read.
    if (count < 0 && IsBlocked(errno)) {
      return {.end = state_->is_refused ? End::kBroken : End::kBlocked};
    }
    if (count == 0) {
      state_->has_ended = true;
      return {.end = End::kClosed};
    }
    if (count > 0 && (flags & MSG_NOTIFICATION) != 0) {
      const auto* const event = reinterpret_cast<const sctp_adaptation_event*>(into.data());
      state_->has_adaptation = static_cast<size_t>(count) >= sizeof *event &&
                               event->sai_type == SCTP_ADAPTATION_INDICATION &&
                               event->sai_adaptation_ind == state_->adaptation;
      continue;
    }
    const bool is_whole = count > 0 && (flags & MSG_EOR) != 0 && state_->has_adaptation;
    if (!is_whole) {
      state_->is_broken = true;
      return {.end = End::kBroken};
    }
    return {.bytes = static_cast<size_t>(count), .protocol = BigEndian(info.rcv_ppid)};
  }
}

End SctpSocket::Send(uint32_t protocol, std::span<const std::byte> message) {
  const SctpLock lock(SctpStack::Get());
  if (state_->is_broken || state_->is_refused) return End::kBroken;
  state_->hub.last_traffic_ = state_->hub.now_;
  sctp_sndinfo info{};
  info.snd_flags = SCTP_UNORDERED;
  info.snd_ppid = BigEndian(protocol);
  const ssize_t count = usrsctp_sendv(state_->socket, message.data(), message.size(), nullptr, 0,
                                      &info, sizeof info, SCTP_SENDV_SNDINFO, 0);
  if (count >= 0) return End::kNone;
  state_->is_blocked = IsBlocked(errno);
  return state_->is_blocked ? End::kBlocked : End::kBroken;
}

size_t SctpSocket::packet_message_max() const {
  const SctpLock lock(SctpStack::Get());
  return state_->datagram_max - kPacketHeaders;
}

CmAddress SctpSocket::local() const {
  CmAddress address = state_->port->local();
  if (state_->link != SctpLinkId() && state_->path.local != IpAddress{}) {
    address.ip = state_->path.local;
  }
  address.interface = state_->path.interface;
  return address;
}

CmAddress SctpSocket::peer() const {
  return {.ip = state_->path.peer.ip,
          .port = state_->path.peer.port,
          .interface = state_->path.interface};
}

// The library calls this when a socket may be readable or writable, or has failed; every caller has
// entered it with the stack held.
void ReportEvents(SctpHub::Association& association) {
  usrsctp_set_upcall(
      association.socket,
      [](UsrSocket*, void* of, int) {
        auto& its = *static_cast<SctpHub::Association*>(of);
        its.is_blocked = false;
        its.hub.Push(its);
      },
      &association);
}

}  // namespace verbena::fabric
