#include "adapter/trace.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "adapter/clock.h"
#include "adapter/identification.h"

namespace verbena::adapter {
namespace {

// Of packets that wait to be written. Reached only by turns that are very long.
constexpr size_t kPendingMax = size_t{1} << 20;

// Captures tell the time of day, the engine has a clock that nobody sets.
Duration SinceEpoch() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return Seconds(now.tv_sec) + Nanoseconds(now.tv_nsec) - Nanoseconds(Now().nanoseconds());
}

std::string Words(const std::string& path) { return "trace " + path + ": " + std::strerror(errno); }

}  // namespace

ErrorOr<std::unique_ptr<Trace>> Trace::Open(const std::string& path) {
  constexpr mode_t kMode = 0644;
  fabric::FileDescriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, kMode));
  if (!file.is_open()) return Fail(SystemError("cannot open the trace " + path));
  // Not make_unique: the constructor is private.
  return std::unique_ptr<Trace>(new Trace(path, std::move(file)));
}

Trace::Trace(std::string path, fabric::FileDescriptor file)
    : path_(std::move(path)),
      file_(std::move(file)),
      since_epoch_(SinceEpoch()),
      writer_([this](std::span<const std::byte> bytes) {
        pending_.insert(pending_.end(), bytes.begin(), bytes.end());
      }) {
  Flush();
}

void Trace::Write(const wire::UdpFlow& flow, const wire::IpFields& ip,
                  std::span<const std::byte> packet) {
  if (!file_.is_open()) return;
  writer_.WriteUdp(Now() + since_epoch_, flow, packet, ip);
  if (pending_.size() >= kPendingMax) Flush();
}

void Trace::OnReceived(const fabric::Datagram& datagram, uint16_t port) {
  const wire::UdpFlow flow = FlowOf(datagram, port);
  wire::IpFields ip{.traffic_class = datagram.traffic_class};
  if (const auto packet = wire::Packet::Parse(datagram.bytes)) {
    ip.identification = FindIdentification(flows_, flow, datagram, *packet).value_or(0);
  }
  Write(flow, ip, datagram.bytes);
}

void Trace::Flush() {
  if (pending_.empty() || !file_.is_open()) return;
  ssize_t written = 0;
  do {
    written = write(file_.get(), pending_.data(), pending_.size());
  } while (written < 0 && errno == EINTR);
  if (written != static_cast<ssize_t>(pending_.size())) {
    if (written >= 0) errno = ENOSPC;  // what is missing would make the rest unreadable
    notes_.push_back("the trace ends early: " + Words(path_));
    file_ = fabric::FileDescriptor();
  }
  pending_.clear();
}

std::vector<std::string> Trace::TakeNotes() { return std::exchange(notes_, {}); }

}  // namespace verbena::adapter
