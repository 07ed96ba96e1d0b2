#include "wire/roce/opcode.h"

#include <initializer_list>

#include "base/check.h"
#include "wire/roce/bth.h"
#include "wire/text.h"

namespace verbena::wire {
namespace {

using Set = uint16_t;  // of extensions

constexpr Set Of(std::initializer_list<Extension> extensions) {
  Set set = 0;
  for (const Extension e : extensions) set = static_cast<Set>(set | 1U << static_cast<unsigned>(e));
  return set;
}

constexpr Set kBare = 0;
constexpr Set kRdeth = Of({Extension::kRdeth});
constexpr Set kRdethDeth = Of({Extension::kRdeth, Extension::kDeth});
constexpr Set kDeth = Of({Extension::kDeth});
constexpr Set kXrceth = Of({Extension::kXrceth});
constexpr Set kReth = Of({Extension::kReth});
constexpr Set kRethImmDt = Of({Extension::kReth, Extension::kImmDt});
constexpr Set kFethReth = Of({Extension::kFeth, Extension::kReth});
constexpr Set kAeth = Of({Extension::kAeth});
constexpr Set kAethAtomic = Of({Extension::kAeth, Extension::kAtomicAckEth});
constexpr Set kAtomicEth = Of({Extension::kAtomicEth});
constexpr Set kImmDt = Of({Extension::kImmDt});
constexpr Set kIeth = Of({Extension::kIeth});

// An operation, which is the same for every service. (IBA table 38; 1C and 1D: IBA 1.5, annex A19)
struct Shape {
  std::string_view name;
  uint8_t code;  // the low five bits of the opcode
  Operation operation;
  Position position;
  Companion companion;
  PayloadRule payload;
  Set extensions;
};

using enum Operation;
using enum Position;
using enum PayloadRule;
constexpr Operation kAck = kAcknowledge;
constexpr Operation kAtomicAck = kAtomicAcknowledge;
constexpr PayloadRule kEight = kEightBytes;
constexpr Companion kPlain = Companion::kNone;
constexpr Companion kImm = Companion::kImmediate;
constexpr Companion kInv = Companion::kInvalidate;

// clang-format off
constexpr Shape kShapes[] = {
    {"SEND First",                     0x00, kSend,         kFirst,  kPlain, kPathMtu, kBare},
    {"SEND Middle",                    0x01, kSend,         kMiddle, kPlain, kPathMtu, kBare},
    {"SEND Last",                      0x02, kSend,         kLast,   kPlain, kSome,    kBare},
    {"SEND Last with Immediate",       0x03, kSend,         kLast,   kImm,   kSome,    kImmDt},
    {"SEND Only",                      0x04, kSend,         kOnly,   kPlain, kAny,     kBare},
    {"SEND Only with Immediate",       0x05, kSend,         kOnly,   kImm,   kAny,     kImmDt},
    {"RDMA WRITE First",               0x06, kWrite,        kFirst,  kPlain, kPathMtu, kReth},
    {"RDMA WRITE Middle",              0x07, kWrite,        kMiddle, kPlain, kPathMtu, kBare},
    {"RDMA WRITE Last",                0x08, kWrite,        kLast,   kPlain, kSome,    kBare},
    {"RDMA WRITE Last with Immediate", 0x09, kWrite,        kLast,   kImm,   kSome,    kImmDt},
    {"RDMA WRITE Only",                0x0A, kWrite,        kOnly,   kPlain, kAny,     kReth},
    {"RDMA WRITE Only with Immediate", 0x0B, kWrite,        kOnly,   kImm,   kAny,     kRethImmDt},
    {"RDMA READ Request",              0x0C, kReadRequest,  kOnly,   kPlain, kNone,    kReth},
    {"RDMA READ response First",       0x0D, kReadResponse, kFirst,  kPlain, kPathMtu, kAeth},
    {"RDMA READ response Middle",      0x0E, kReadResponse, kMiddle, kPlain, kPathMtu, kBare},
    {"RDMA READ response Last",        0x0F, kReadResponse, kLast,   kPlain, kSome,    kAeth},
    {"RDMA READ response Only",        0x10, kReadResponse, kOnly,   kPlain, kAny,     kAeth},
    {"Acknowledge",                    0x11, kAck,          kOnly,   kPlain, kNone,    kAeth},
    {"ATOMIC Acknowledge",             0x12, kAtomicAck,    kOnly,   kPlain, kNone,    kAethAtomic},
    {"CmpSwap",                        0x13, kCompareSwap,  kOnly,   kPlain, kNone,    kAtomicEth},
    {"FetchAdd",                       0x14, kFetchAdd,     kOnly,   kPlain, kNone,    kAtomicEth},
    {"RESYNC",                         0x15, kResync,       kOnly,   kPlain, kNone,    kBare},
    {"SEND Last with Invalidate",      0x16, kSend,         kLast,   kInv,   kSome,    kIeth},
    {"SEND Only with Invalidate",      0x17, kSend,         kOnly,   kInv,   kAny,     kIeth},
    {"FLUSH",                          0x1C, kFlush,        kOnly,   kPlain, kNone,    kFethReth},
    {"ATOMIC WRITE",                   0x1D, kAtomicWrite,  kOnly,   kPlain, kEight,   kReth},
};
// clang-format on

// A service: its operations, and the headers that it adds before those of the operation.
struct ServiceShape {
  Service service;
  std::string_view name;
  uint32_t operations;  // bit n: the operation of code n
  Set before_request;
  Set before_response;
};

constexpr uint32_t UpTo(unsigned code) { return (uint32_t{2} << code) - 1; }
constexpr uint32_t kSendsInvalidate = 1U << 0x16 | 1U << 0x17;
constexpr uint32_t kPlacement = 1U << 0x1C | 1U << 0x1D;

constexpr ServiceShape kServices[] = {
    {Service::kRc, "RC", UpTo(0x14) | kSendsInvalidate | kPlacement, kBare, kBare},
    {Service::kUc, "UC", UpTo(0x0B), kBare, kBare},
    {Service::kRd, "RD", UpTo(0x15), kRdethDeth, kRdeth},
    {Service::kUd, "UD", 1U << 0x04 | 1U << 0x05, kDeth, kBare},
    {Service::kXrc, "XRC", UpTo(0x14) | kSendsInvalidate, kXrceth, kBare},
};

constexpr bool IsResponse(Operation operation) {
  return operation == kReadResponse || operation == kAcknowledge || operation == kAtomicAcknowledge;
}

constexpr void PlaceExtensions(Set extensions, OpcodeInfo& row) {
  std::size_t size = Bth::kSize;
  for (std::size_t i = 0; i < kExtensionCount; ++i) {
    if ((extensions >> i & 1) == 0) continue;
    row.offsets[i] = static_cast<uint8_t>(size);
    size += kExtensionSizes[i];
  }
  row.header_size = static_cast<uint8_t>(size);
  row.extensions = extensions;
}

constexpr OpcodeInfo MakeRow(const ServiceShape& service, const Shape& shape) {
  OpcodeInfo row;
  row.opcode =
      Opcode(static_cast<uint8_t>(static_cast<unsigned>(service.service) << 5 | shape.code));
  row.service = service.service;
  row.operation = shape.operation;
  row.position = shape.position;
  row.companion = shape.companion;
  row.payload = shape.payload;
  row.is_response = IsResponse(shape.operation);
  row.is_request = !row.is_response;
  const Set before = row.is_request ? service.before_request : service.before_response;
  PlaceExtensions(static_cast<Set>(before | shape.extensions), row);
  row.service_name = service.name;
  row.operation_name = shape.name;
  return row;
}

// Neither request nor response, and of no service. (IBA A17.9.3)
constexpr OpcodeInfo MakeCongestionNotification() {
  OpcodeInfo row;
  row.opcode = Opcode(0x81);
  row.service = Service::kCnp;
  row.operation = kCongestionNotification;
  row.position = kOnly;
  row.payload = kReserved16;
  PlaceExtensions(kBare, row);
  row.operation_name = "CNP";
  return row;
}

constexpr std::array<OpcodeInfo, 256> MakeTable() {
  std::array<OpcodeInfo, 256> table;
  const auto put = [&table](const OpcodeInfo& row) { table[row.opcode.value()] = row; };
  for (const ServiceShape& service : kServices) {
    for (const Shape& shape : kShapes) {
      if (service.operations >> shape.code & 1) put(MakeRow(service, shape));
    }
  }
  put(MakeCongestionNotification());
  return table;
}

}  // namespace

namespace internal {

constexpr std::array<OpcodeInfo, 256> kOpcodeTable = MakeTable();

namespace {

constexpr uint8_t kUndefined = 0xFF;
static_assert(kOpcodeTable[kUndefined].header_size == 0);

constexpr std::array<uint8_t, 6 << 8> MakeInverse() {
  std::array<uint8_t, 6 << 8> inverse;
  inverse.fill(kUndefined);
  for (const OpcodeInfo& row : kOpcodeTable) {
    if (row.header_size == 0) continue;
    inverse[Describe(row.service, row.operation, row.position, row.companion)] = row.opcode.value();
  }
  return inverse;
}

}  // namespace

constexpr std::array<uint8_t, 6 << 8> kOpcodeOf = MakeInverse();

}  // namespace internal

bool PayloadFits(const OpcodeInfo& info, std::size_t length, std::size_t path_mtu) {
  switch (info.payload) {
    case PayloadRule::kNone:
      return length == 0;
    case PayloadRule::kPathMtu:
      return length == path_mtu;
    case PayloadRule::kSome:
      return length >= 1 && length <= path_mtu;
    case PayloadRule::kAny:
      return length <= path_mtu;
    case PayloadRule::kEightBytes:
      return length == 8;
    case PayloadRule::kReserved16:
      return length == 16;
  }
  UNREACHABLE();
}

std::string OpcodeInfo::name() const {
  std::string text(service_name);
  if (!text.empty()) text += ' ';
  return text.append(operation_name);
}

std::string ToString(Opcode opcode) {
  const OpcodeInfo* info = FindOpcode(opcode);
  return info != nullptr ? info->name() : "opcode " + Hex(opcode.value(), 2);
}

}  // namespace verbena::wire
