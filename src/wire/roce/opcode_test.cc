#include "wire/roce/opcode.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "wire/roce/aeth.h"
#include "wire/roce/atomic_ack_eth.h"
#include "wire/roce/atomic_eth.h"
#include "wire/roce/bth.h"
#include "wire/roce/deth.h"
#include "wire/roce/feth.h"
#include "wire/roce/ieth.h"
#include "wire/roce/immdt.h"
#include "wire/roce/rdeth.h"
#include "wire/roce/reth.h"
#include "wire/roce/xrceth.h"

namespace verbena::wire {
namespace {

struct Row {
  int opcode;
  const char* name;
  const char* follows;  // what follows the BTH
};

// IBA table 38, A14.4, A17.9.3 and A19.4, row by row.
constexpr Row kSpecification[] = {
    {0x00, "RC SEND First", "PayLd"},
    {0x01, "RC SEND Middle", "PayLd"},
    {0x02, "RC SEND Last", "PayLd"},
    {0x03, "RC SEND Last with Immediate", "ImmDt PayLd"},
    {0x04, "RC SEND Only", "PayLd"},
    {0x05, "RC SEND Only with Immediate", "ImmDt PayLd"},
    {0x06, "RC RDMA WRITE First", "RETH PayLd"},
    {0x07, "RC RDMA WRITE Middle", "PayLd"},
    {0x08, "RC RDMA WRITE Last", "PayLd"},
    {0x09, "RC RDMA WRITE Last with Immediate", "ImmDt PayLd"},
    {0x0A, "RC RDMA WRITE Only", "RETH PayLd"},
    {0x0B, "RC RDMA WRITE Only with Immediate", "RETH ImmDt PayLd"},
    {0x0C, "RC RDMA READ Request", "RETH"},
    {0x0D, "RC RDMA READ response First", "AETH PayLd"},
    {0x0E, "RC RDMA READ response Middle", "PayLd"},
    {0x0F, "RC RDMA READ response Last", "AETH PayLd"},
    {0x10, "RC RDMA READ response Only", "AETH PayLd"},
    {0x11, "RC Acknowledge", "AETH"},
    {0x12, "RC ATOMIC Acknowledge", "AETH AtomicAckETH"},
    {0x13, "RC CmpSwap", "AtomicETH"},
    {0x14, "RC FetchAdd", "AtomicETH"},
    {0x16, "RC SEND Last with Invalidate", "IETH PayLd"},
    {0x17, "RC SEND Only with Invalidate", "IETH PayLd"},
    {0x1C, "RC FLUSH", "FETH RETH"},
    {0x1D, "RC ATOMIC WRITE", "RETH PayLd"},
    {0x20, "UC SEND First", "PayLd"},
    {0x21, "UC SEND Middle", "PayLd"},
    {0x22, "UC SEND Last", "PayLd"},
    {0x23, "UC SEND Last with Immediate", "ImmDt PayLd"},
    {0x24, "UC SEND Only", "PayLd"},
    {0x25, "UC SEND Only with Immediate", "ImmDt PayLd"},
    {0x26, "UC RDMA WRITE First", "RETH PayLd"},
    {0x27, "UC RDMA WRITE Middle", "PayLd"},
    {0x28, "UC RDMA WRITE Last", "PayLd"},
    {0x29, "UC RDMA WRITE Last with Immediate", "ImmDt PayLd"},
    {0x2A, "UC RDMA WRITE Only", "RETH PayLd"},
    {0x2B, "UC RDMA WRITE Only with Immediate", "RETH ImmDt PayLd"},
    {0x40, "RD SEND First", "RDETH DETH PayLd"},
    {0x41, "RD SEND Middle", "RDETH DETH PayLd"},
    {0x42, "RD SEND Last", "RDETH DETH PayLd"},
    {0x43, "RD SEND Last with Immediate", "RDETH DETH ImmDt PayLd"},
    {0x44, "RD SEND Only", "RDETH DETH PayLd"},
    {0x45, "RD SEND Only with Immediate", "RDETH DETH ImmDt PayLd"},
    {0x46, "RD RDMA WRITE First", "RDETH DETH RETH PayLd"},
    {0x47, "RD RDMA WRITE Middle", "RDETH DETH PayLd"},
    {0x48, "RD RDMA WRITE Last", "RDETH DETH PayLd"},
    {0x49, "RD RDMA WRITE Last with Immediate", "RDETH DETH ImmDt PayLd"},
    {0x4A, "RD RDMA WRITE Only", "RDETH DETH RETH PayLd"},
    {0x4B, "RD RDMA WRITE Only with Immediate", "RDETH DETH RETH ImmDt PayLd"},
    {0x4C, "RD RDMA READ Request", "RDETH DETH RETH"},
    {0x4D, "RD RDMA READ response First", "RDETH AETH PayLd"},
    {0x4E, "RD RDMA READ response Middle", "RDETH PayLd"},
    {0x4F, "RD RDMA READ response Last", "RDETH AETH PayLd"},
    {0x50, "RD RDMA READ response Only", "RDETH AETH PayLd"},
    {0x51, "RD Acknowledge", "RDETH AETH"},
    {0x52, "RD ATOMIC Acknowledge", "RDETH AETH AtomicAckETH"},
    {0x53, "RD CmpSwap", "RDETH DETH AtomicETH"},
    {0x54, "RD FetchAdd", "RDETH DETH AtomicETH"},
    {0x55, "RD RESYNC", "RDETH DETH"},
    {0x64, "UD SEND Only", "DETH PayLd"},
    {0x65, "UD SEND Only with Immediate", "DETH ImmDt PayLd"},
    {0x81, "CNP", "PayLd"},
    {0xA0, "XRC SEND First", "XRCETH PayLd"},
    {0xA1, "XRC SEND Middle", "XRCETH PayLd"},
    {0xA2, "XRC SEND Last", "XRCETH PayLd"},
    {0xA3, "XRC SEND Last with Immediate", "XRCETH ImmDt PayLd"},
    {0xA4, "XRC SEND Only", "XRCETH PayLd"},
    {0xA5, "XRC SEND Only with Immediate", "XRCETH ImmDt PayLd"},
    {0xA6, "XRC RDMA WRITE First", "XRCETH RETH PayLd"},
    {0xA7, "XRC RDMA WRITE Middle", "XRCETH PayLd"},
    {0xA8, "XRC RDMA WRITE Last", "XRCETH PayLd"},
    {0xA9, "XRC RDMA WRITE Last with Immediate", "XRCETH ImmDt PayLd"},
    {0xAA, "XRC RDMA WRITE Only", "XRCETH RETH PayLd"},
    {0xAB, "XRC RDMA WRITE Only with Immediate", "XRCETH RETH ImmDt PayLd"},
    {0xAC, "XRC RDMA READ Request", "XRCETH RETH"},
    {0xAD, "XRC RDMA READ response First", "AETH PayLd"},
    {0xAE, "XRC RDMA READ response Middle", "PayLd"},
    {0xAF, "XRC RDMA READ response Last", "AETH PayLd"},
    {0xB0, "XRC RDMA READ response Only", "AETH PayLd"},
    {0xB1, "XRC Acknowledge", "AETH"},
    {0xB2, "XRC ATOMIC Acknowledge", "AETH AtomicAckETH"},
    {0xB3, "XRC CmpSwap", "XRCETH AtomicETH"},
    {0xB4, "XRC FetchAdd", "XRCETH AtomicETH"},
    {0xB6, "XRC SEND Last with Invalidate", "XRCETH IETH PayLd"},
    {0xB7, "XRC SEND Only with Invalidate", "XRCETH IETH PayLd"},
};

struct Part {
  Extension extension;
  const char* name;
  std::size_t size;
};

constexpr Part kParts[] = {
    {Extension::kRdeth, "RDETH", Rdeth::kSize},
    {Extension::kDeth, "DETH", Deth::kSize},
    {Extension::kXrceth, "XRCETH", Xrceth::kSize},
    {Extension::kFeth, "FETH", Feth::kSize},
    {Extension::kReth, "RETH", Reth::kSize},
    {Extension::kAtomicEth, "AtomicETH", AtomicEth::kSize},
    {Extension::kAeth, "AETH", Aeth::kSize},
    {Extension::kAtomicAckEth, "AtomicAckETH", AtomicAckEth::kSize},
    {Extension::kImmDt, "ImmDt", ImmDt::kSize},
    {Extension::kIeth, "IETH", Ieth::kSize},
};
static_assert(std::size(kParts) == kExtensionCount);

const OpcodeInfo& InfoOf(int opcode) {
  const OpcodeInfo* info = FindOpcode(Opcode(static_cast<uint8_t>(opcode)));
  CHECK(info != nullptr);
  return *info;
}

// Describes what follows the BTH, and checks that each part starts where the one before it ends.
std::string Follows(const OpcodeInfo& info) {
  std::string text;
  std::size_t end = Bth::kSize;
  for (const Part& part : kParts) {
    if (!info.Has(part.extension)) continue;
    EXPECT_EQ(info.offset(part.extension), end) << info.name();
    end += part.size;
    text += (text.empty() ? "" : " ") + std::string(part.name);
  }
  EXPECT_EQ(info.header_size, end) << info.name();
  if (info.has_payload()) text += text.empty() ? "PayLd" : " PayLd";
  return text;
}

TEST(OpcodeTest, AgreesWithTheSpecification) {
  for (const Row& row : kSpecification) {
    const OpcodeInfo& info = InfoOf(row.opcode);
    EXPECT_EQ(info.opcode.value(), row.opcode);
    EXPECT_EQ(info.name(), row.name);
    EXPECT_EQ(Follows(info), row.follows) << row.name;
  }
}

TEST(OpcodeTest, DefinesNoOtherOpcodes) {
  int defined = 0;
  for (int i = 0; i < 256; ++i) defined += FindOpcode(Opcode(static_cast<uint8_t>(i))) != nullptr;
  EXPECT_EQ(defined, static_cast<int>(std::size(kSpecification)));
}

TEST(OpcodeTest, IsFoundByItsDescription) {
  for (const Row& row : kSpecification) {
    const OpcodeInfo& info = InfoOf(row.opcode);
    EXPECT_EQ(FindOpcode(info.service, info.operation, info.position, info.companion), &info);
  }
  EXPECT_EQ(FindOpcode(Service::kUd, Operation::kWrite), nullptr);
  EXPECT_EQ(FindOpcode(Service::kUc, Operation::kReadRequest), nullptr);
  EXPECT_EQ(FindOpcode(Service::kXrc, Operation::kFlush), nullptr);
  EXPECT_EQ(FindOpcode(Service::kRc, Operation::kSend, Position::kFirst, Companion::kImmediate),
            nullptr);
}

// The name implies the properties, so the test compares them with it.
TEST(OpcodeTest, HasThePropertiesInItsName) {
  for (const Row& row : kSpecification) {
    const OpcodeInfo& info = InfoOf(row.opcode);
    const std::string name = row.name;
    const auto says = [&name](const char* word) { return name.find(word) != std::string::npos; };
    EXPECT_EQ(info.has_immediate(), says("Immediate")) << name;
    EXPECT_EQ(info.has_immediate(), info.Has(Extension::kImmDt)) << name;
    EXPECT_EQ(info.has_invalidate(), says("Invalidate")) << name;
    EXPECT_EQ(info.has_invalidate(), info.Has(Extension::kIeth)) << name;
    EXPECT_EQ(info.is_response, says("response") || says("Acknowledge")) << name;
    EXPECT_EQ(info.is_request, !info.is_response && !says("CNP")) << name;
    EXPECT_EQ(info.starts_message(), !says("Middle") && !says("Last")) << name;
    EXPECT_EQ(info.ends_message(), !says("Middle") && !says("First")) << name;
    EXPECT_EQ(info.is_atomic(), says("CmpSwap") || says("FetchAdd")) << name;
    EXPECT_EQ(info.operation == Operation::kSend, says("SEND")) << name;
    EXPECT_EQ(info.operation == Operation::kWrite, says("RDMA WRITE")) << name;
    EXPECT_EQ(info.operation == Operation::kReadResponse, says("READ response")) << name;
  }
}

TEST(OpcodeTest, ChecksTheLengthOfThePayload) {
  constexpr std::size_t kMtu = 1024;
  const auto allowed = [](int opcode) {
    std::string lengths;
    for (const std::size_t n : {0u, 1u, 8u, 16u, 1023u, 1024u, 1025u}) {
      if (PayloadFits(InfoOf(opcode), n, kMtu)) lengths += std::to_string(n) + " ";
    }
    return lengths;
  };
  EXPECT_EQ(allowed(0x00), "1024 ") << "first";
  EXPECT_EQ(allowed(0x07), "1024 ") << "middle";
  EXPECT_EQ(allowed(0x0F), "1 8 16 1023 1024 ") << "last";
  EXPECT_EQ(allowed(0x64), "0 1 8 16 1023 1024 ") << "only";
  EXPECT_EQ(allowed(0x11), "0 ") << "acknowledge";
  EXPECT_EQ(allowed(0x1D), "8 ") << "atomic write";
  EXPECT_EQ(allowed(0x81), "16 ") << "congestion notification";
}

TEST(OpcodeTest, HasAName) {
  EXPECT_EQ(ToString(Opcode(0xB7)), "XRC SEND Only with Invalidate");
  EXPECT_EQ(ToString(Opcode(0x81)), "CNP");
  EXPECT_EQ(ToString(Opcode(0x15)), "opcode 0x15");
}

}  // namespace
}  // namespace verbena::wire
