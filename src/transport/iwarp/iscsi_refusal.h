#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace verbena::transport {

// The header of every iSCSI PDU.
inline constexpr size_t kIscsiHeaderBytes = 48;

// Why a login is refused: status class and detail. (RFC 7143, 11.13.5)
enum class IscsiStatus : uint16_t {
  kServiceUnavailable = 0x0301,
  kOutOfResources = 0x0302,
};

// The login response that refuses the login request with this header, after which the connection
// ends. (RFC 7143, 11.13)
//
//  byte  0               1               2               3
//      0 | 0x23          |T|C|0 0|CSG|NSG| version max   | version active|
//      4 | AHS length: 0 | data length: 0                                |
//      8 | ISID                                                          |
//     12 |                               | TSIH                          |
//     16 | initiator task tag                                            |
//     20 | reserved                                                      |
//     24 | StatSN                                                        |
//     28 | ExpCmdSN                                                      |
//     32 | MaxCmdSN                                                      |
//     36 | status class  | status detail | reserved ..                47 |
[[nodiscard]] std::array<std::byte, kIscsiHeaderBytes> RefuseIscsiLogin(
    std::span<const std::byte, kIscsiHeaderBytes> request, IscsiStatus status);

}  // namespace verbena::transport
