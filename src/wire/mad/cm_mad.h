#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "wire/mad/cm_apr.h"
#include "wire/mad/cm_drep.h"
#include "wire/mad/cm_dreq.h"
#include "wire/mad/cm_lap.h"
#include "wire/mad/cm_mra.h"
#include "wire/mad/cm_rej.h"
#include "wire/mad/cm_rep.h"
#include "wire/mad/cm_req.h"
#include "wire/mad/cm_rtu.h"
#include "wire/mad/cm_sidr_rep.h"
#include "wire/mad/cm_sidr_req.h"
#include "wire/mad/mad_header.h"

namespace verbena::wire {

using CmMessage = std::variant<CmReq, CmMra, CmRej, CmRep, CmRtu, CmDreq, CmDrep, CmSidrReq,
                               CmSidrRep, CmLap, CmApr>;

// A datagram of the communication-management class (IBA 12.6, 16.7): one message after the common
// header, in which only transaction id, attribute id and attribute modifier (ECE options) vary. A
// value type.
struct CmMad {
  static constexpr std::size_t kSize = kMadSize;
  static constexpr uint8_t kManagementClass = 0x07;
  static constexpr uint8_t kClassVersion = 2;
  static constexpr uint8_t kSend = 0x03;  // the method

  TransactionId transaction{};
  CmMessage message;

  // nullopt if there are too few bytes, if the class, version or method is another one, if the
  // attribute is not a message, or if a field has a reserved value.
  [[nodiscard]] static std::optional<CmMad> Parse(std::span<const std::byte> bytes);
  void Serialize(std::span<std::byte> bytes) const;
  [[nodiscard]] std::array<std::byte, kSize> ToBytes() const {
    std::array<std::byte, kSize> bytes;
    Serialize(bytes);
    return bytes;
  }

  friend bool operator==(const CmMad&, const CmMad&) = default;
};

[[nodiscard]] std::string ToString(const CmMessage& message);
[[nodiscard]] std::string ToString(const CmMad& mad);

}  // namespace verbena::wire
