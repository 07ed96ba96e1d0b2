#include "transport/iwarp/iscsi_refusal.h"

#include <algorithm>

namespace verbena::transport {
namespace {

constexpr std::byte kLoginResponse{0x23};
constexpr std::byte kCurrentStage{0x0C};

}  // namespace

std::array<std::byte, kIscsiHeaderBytes> RefuseIscsiLogin(
    std::span<const std::byte, kIscsiHeaderBytes> request, IscsiStatus status) {
  std::array<std::byte, kIscsiHeaderBytes> response{};
  const auto repeat = [&](size_t from, size_t size, size_t to) {
    std::ranges::copy(request.subspan(from, size), response.begin() + static_cast<ptrdiff_t>(to));
  };
  response[0] = kLoginResponse;
  response[1] = request[1] & kCurrentStage;
  repeat(8, 12, 8);   // ISID, TSIH, initiator task tag
  repeat(28, 4, 24);  // the StatSN that the initiator expects
  repeat(24, 4, 28);  // the number of this command, which is not counted: it is immediate
  repeat(24, 4, 32);
  response[36] = static_cast<std::byte>(static_cast<uint16_t>(status) >> 8);
  response[37] = static_cast<std::byte>(static_cast<uint16_t>(status));
  return response;
}

}  // namespace verbena::transport
