#include "adapter/loop/trace.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "adapter/loop/identification.h"
#include "base/clock.h"
#include "base/file_size_signal.h"
#include "base/own_file.h"
#include "base/when_memory.h"

namespace verbena::adapter {
namespace {

// Limit of the packets that wait to be written. Only very long passes reach it.
constexpr size_t kPendingMax = size_t{1} << 20;

// Captures have the time of day; the engine has a monotonic clock.
Duration SinceEpoch() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return Seconds(now.tv_sec) + Nanoseconds(now.tv_nsec) - Nanoseconds(Now().nanoseconds());
}

const char* WordsFor(int error) {
  if (error == EFBIG) return "it is as long as files may be (ulimit -f)";
  return error == ENOMEM ? "out of memory" : std::strerror(error);
}

}  // namespace

ErrorOr<std::unique_ptr<Trace>> Trace::Open(const std::string& path, OnWarning on_urgent_warning) {
  auto file = OpenOwnFile(path, FileUse::kAppend);
  if (!file) {
    return Fail(SystemError(file.error().os_error, "cannot open the trace " + file.error().text));
  }
  // Not make_unique, because the constructor is private.
  return std::unique_ptr<Trace>(new Trace(path, std::move(*file), std::move(on_urgent_warning)));
}

Trace::Trace(std::string path, fabric::FileDescriptor file, OnWarning on_urgent_warning)
    : path_(std::move(path)),
      on_urgent_warning_(std::move(on_urgent_warning)),
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
  const size_t before = pending_.size();
  if (!WhenMemory([&] { writer_.WriteUdp(Now() + since_epoch_, flow, packet, ip); })) {
    pending_.resize(before);  // only whole blocks are written
    Flush();
    return End(ENOMEM);
  }
  if (pending_.size() >= kPendingMax) Flush();
}

void Trace::OnReceived(const fabric::ReceivedDatagram& datagram, uint16_t port) {
  const wire::UdpFlow flow = FlowOf(datagram, port);
  wire::IpFields ip{.traffic_class = datagram.traffic_class};
  if (const auto packet = wire::Packet::Parse(datagram.bytes)) {
    ip.identification = FindIdentification(flows_, flow, datagram, *packet).value_or(0);
  }
  Write(flow, ip, datagram.bytes);
}

void Trace::Flush() {
  if (pending_.empty() || !file_.is_open()) return;
  const NoFileSizeSignal no_signal;
  ssize_t written = 0;
  do {
    written = write(file_.get(), pending_.data(), pending_.size());
  } while (written < 0 && errno == EINTR);
  if (written < 0) {
    End(errno);
  } else if (written != static_cast<ssize_t>(pending_.size())) {
    End(WhyShort());  // what is missing would make the rest unreadable
  }
  pending_.clear();
}

// Why a write was short.
int Trace::WhyShort() const {
  rlimit limit{};
  struct stat file {};
  const bool is_known = getrlimit(RLIMIT_FSIZE, &limit) == 0 && fstat(file_.get(), &file) == 0;
  const bool is_limit = is_known && static_cast<rlim_t>(file.st_size) >= limit.rlim_cur;
  return is_limit ? EFBIG : ENOSPC;
}

// The program continues, and the user is warned once.
void Trace::End(int error) {
  file_ = fabric::FileDescriptor();
  static_cast<void>(WhenMemory([&] {
    std::string warning = "the trace " + path_ + " ends early: " + WordsFor(error);
    if (on_urgent_warning_) return on_urgent_warning_(warning);
    warnings_.push_back(std::move(warning));
  }));
}

std::vector<std::string> Trace::TakeWarnings() { return std::exchange(warnings_, {}); }

}  // namespace verbena::adapter
