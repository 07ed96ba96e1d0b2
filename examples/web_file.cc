// Speaks HTTP with ordinary programs, over queue pairs of plain bytes of an iWARP device.
//
//   web_file                            both ends, here
//   web_file serve FILE [PORT]          to any client: curl http://127.0.0.1:PORT/
//   web_file fetch ADDRESS PORT PATH    from any server, to the standard output

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>

#include "examples/support/endpoint.h"

namespace {

using examples::Must;
using verbena::CmEventType;

constexpr uint32_t kPiece = 64 << 10;

struct Device {
  verbena::Context context =
      Must(verbena::Context::Open({.transport = verbena::TransportType::kIwarp}));
  verbena::ProtectionDomain domain = Must(verbena::ProtectionDomain::Allocate(context));
  verbena::CmChannel channel = Must(verbena::CmChannel::Create());

  [[nodiscard]] verbena::CmEventType Next() const {
    const auto event = channel.Wait();
    return event ? event->type : CmEventType::kUnreachable;
  }
};

// A TCP connection to a program that need not know of Verbena. The first half of the memory is for
// what is sent, the second for what arrives.
class Stream {
 public:
  explicit Stream(const Device& device) : device_(device) {
    Must(qp_.Prepare());
    parameters_.qp = qp_.number();
    parameters_.service = verbena::CmService::kStream;
  }

  [[nodiscard]] bool Connect(const verbena::CmAddress& to) {
    id_ = Must(
        verbena::CmId::Create(device_.context, device_.channel, verbena::PortSpace::kTcp, nullptr));
    Must(id_.Connect(Must(verbena::SourceAddressFor(to)), to, parameters_));
    if (device_.Next() != CmEventType::kConnectResponse) return false;
    Must(id_.Establish());
    return true;
  }
  void Accept(const verbena::CmEvent& request) {
    id_ = Must(verbena::CmId::Take(device_.context, device_.channel, request, nullptr));
    Must(id_.Accept(parameters_));
  }

  // False if the stream is gone.
  [[nodiscard]] bool Write(std::string_view text) {
    while (!text.empty()) {
      const auto size = static_cast<uint32_t>(std::min<size_t>(text.size(), kPiece));
      std::memcpy(bytes_.data(), text.data(), size);
      if (!qp_.Post(verbena::Send{.data = region_.Local(0, size)}) || !Wait()) return false;
      text.remove_prefix(size);
    }
    return true;
  }
  // A send without bytes ends this direction.
  [[nodiscard]] bool End() { return qp_.Post(verbena::Send{}).has_value() && Wait().has_value(); }
  // What has arrived; empty if the peer has ended its direction, or the stream is gone.
  [[nodiscard]] std::string_view Read() {
    if (!qp_.Post(verbena::Receive{.data = region_.Local(kPiece, kPiece)})) return {};
    const auto size = Wait();
    return {reinterpret_cast<const char*>(bytes_.data()) + kPiece, size.value_or(0)};
  }

 private:
  // Waits as long as the peer wants: one request is posted at a time.
  [[nodiscard]] std::optional<uint32_t> Wait() const {
    for (verbena::Completion done;;) {
      const auto count = cq_.Poll({&done, 1});
      if (!count) return std::nullopt;
      if (*count > 0) return done.ok() ? std::optional(done.byte_count) : std::nullopt;
    }
  }

  const Device& device_;
  std::array<std::byte, 2 * kPiece> bytes_{};
  verbena::MemoryRegion region_ =
      Must(verbena::MemoryRegion::Register(device_.domain, bytes_, verbena::Access::kLocal));
  verbena::CompletionQueue cq_ = Must(verbena::CompletionQueue::Create(device_.context, 64));
  verbena::QueuePair qp_ = Must(verbena::QueuePair::Create(
      device_.domain, {.type = verbena::QpType::kStream, .send_cq = &cq_, .receive_cq = &cq_}));
  verbena::ConnectionParameters parameters_;
  verbena::CmId id_;
};

// Reads until the header of a request or response is whole; returns all that was read.
std::string ReadHeader(Stream& stream) {
  std::string text;
  while (text.find("\r\n\r\n") == std::string::npos) {
    const std::string_view more = stream.Read();
    if (more.empty()) return {};
    text += more;
  }
  return text;
}

bool ServeOne(const Device& device, const verbena::CmEvent& request, const std::string& file) {
  Stream stream(device);
  stream.Accept(request);
  const bool is_get = ReadHeader(stream).starts_with("GET ");
  const std::string header =
      is_get ? "HTTP/1.0 200 OK\r\nContent-Length: " + std::to_string(file.size()) + "\r\n\r\n"
             : "HTTP/1.0 400 Bad Request\r\n\r\n";
  if (!stream.Write(header) || (is_get && !stream.Write(file)) || !stream.End()) return false;
  while (!stream.Read().empty()) {
  }
  return true;
}

// An HTTP server for one client at a time.
class Server {
 public:
  Server(std::string file, uint16_t port) : file_(std::move(file)) {
    Must(listener_.Bind({.port = port}));
    Must(listener_.Listen(16, {.rdma = false, .plain = true}));
  }
  [[nodiscard]] uint16_t port() const { return listener_.local().port; }

  // Serves one client. False if it went away.
  [[nodiscard]] bool Serve() const {
    for (;;) {
      const auto event = device_.channel.Wait();
      const bool is_client = event && event->type == CmEventType::kConnectRequest;
      if (is_client) return ServeOne(device_, *event, file_);
    }
  }

 private:
  Device device_;
  const std::string file_;
  verbena::CmId listener_ = Must(
      verbena::CmId::Create(device_.context, device_.channel, verbena::PortSpace::kTcp, nullptr));
};

// What the server sends behind its header; nullopt if it cannot be fetched.
std::optional<std::string> Fetch(const verbena::CmAddress& from, const std::string& path) {
  const Device device;
  Stream stream(device);
  if (!stream.Connect(from)) return std::nullopt;
  if (!stream.Write("GET " + path + " HTTP/1.0\r\n\r\n")) return std::nullopt;
  std::string text = ReadHeader(stream);
  if (!text.starts_with("HTTP/1.") || text.substr(8, 5) != " 200 ") return std::nullopt;
  text.erase(0, text.find("\r\n\r\n") + 4);
  for (std::string_view more = stream.Read(); !more.empty(); more = stream.Read()) text += more;
  static_cast<void>(stream.End());
  return text;
}

bool BothEnds() {
  std::string file(3'000'000, 0);
  for (size_t i = 0; i < file.size(); ++i) file[i] = static_cast<char>(i * 7 + (i >> 10));
  const Server server(file, 0);
  bool is_served = false;
  std::thread thread([&] { is_served = server.Serve(); });
  const auto here = verbena::IpAddress::FromIpv4(127, 0, 0, 1);
  const auto fetched = Fetch({.ip = here, .port = server.port()}, "/");
  thread.join();
  std::printf("%zu bytes over a plain stream, each checked\n", file.size());
  return is_served && fetched == file;
}

int Usage(const char* program) {
  std::fprintf(stderr,
               "usage: %s                            both ends, here\n"
               "       %s serve FILE [PORT]\n"
               "       %s fetch ADDRESS PORT PATH\n",
               program, program, program);
  return EXIT_FAILURE;
}

int ServeForEver(const char* path, uint16_t port) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "cannot read %s\n", path);
    return EXIT_FAILURE;
  }
  const Server server(std::string(std::istreambuf_iterator<char>(in), {}), port);
  std::printf("port %u\n", server.port());
  std::fflush(stdout);
  for (;;) static_cast<void>(server.Serve());
}

int FetchOnce(const char* address, const char* port, const char* path) {
  const auto ip = verbena::ParseIpAddress(address);
  if (!ip) {
    std::fprintf(stderr, "%s is not an IP address\n", address);
    return EXIT_FAILURE;
  }
  const auto fetched = Fetch({.ip = *ip, .port = static_cast<uint16_t>(std::atoi(port))}, path);
  if (!fetched) {
    std::fprintf(stderr, "cannot fetch %s\n", path);
    return EXIT_FAILURE;
  }
  return std::fwrite(fetched->data(), 1, fetched->size(), stdout) == fetched->size() ? EXIT_SUCCESS
                                                                                     : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (argc == 1) return BothEnds() ? EXIT_SUCCESS : EXIT_FAILURE;
  if (role == "serve" && (argc == 3 || argc == 4)) {
    return ServeForEver(argv[2], static_cast<uint16_t>(argc == 4 ? std::atoi(argv[3]) : 0));
  }
  if (role == "fetch" && argc == 5) return FetchOnce(argv[2], argv[3], argv[4]);
  return Usage(argv[0]);
}
