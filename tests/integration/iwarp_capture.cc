// Writes iWARP connections, over IPv4 and IPv6, of revision 1 and 2, with CRC, markers and neither,
// for another program to decode:
//
//   iwarp_capture FILE.pcapng
//
// and prints their fields, a line per TCP segment: the number of the frame, the name of the
// message, then name=value for each field. The names are those of Wireshark.

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/support/wire_header.h"
#include "wire/iwarp/ddp_tagged.h"
#include "wire/iwarp/ddp_untagged.h"
#include "wire/iwarp/mpa_fpdu.h"
#include "wire/iwarp/mpa_request.h"
#include "wire/iwarp/rdmap_atomic.h"
#include "wire/iwarp/rdmap_immediate.h"
#include "wire/iwarp/rdmap_read_request.h"
#include "wire/iwarp/rdmap_terminate.h"
#include "wire/pcap.h"

namespace verbena::wire {
namespace {

using Bytes = std::vector<std::byte>;

// The fields of one segment, as text.
class Line {
 public:
  Line& Add(const std::string& name, uint64_t value) {
    text_ += "\tiwarp_" + name + "=" + std::to_string(value);
    return *this;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// A DDP segment: its headers, its fields, and the bytes behind the DDP header.
struct Segment {
  std::string name;
  Bytes bytes = {};
  Line line = {};
};

template <class Header>
void Append(const Header& header, Bytes& bytes) {
  const Bytes written = Written(header);
  bytes.insert(bytes.end(), written.begin(), written.end());
}

Line LineOf(const DdpControl& control) {
  return Line()
      .Add("ddp.tagged_flag", control.tagged)
      .Add("ddp.last_flag", control.last)
      .Add("ddp.dv", control.ddp_version)
      .Add("rdma.version", control.rdmap_version)
      .Add("rdma.opcode", static_cast<uint64_t>(control.opcode));
}

Segment SegmentOf(const DdpTagged& header, const Bytes& payload) {
  Segment segment{.name = ToString(header.control.opcode), .line = LineOf(header.control)};
  segment.line.Add("ddp.stag", header.stag.value()).Add("ddp.tagged_offset", header.offset.value());
  Append(header, segment.bytes);
  segment.bytes.insert(segment.bytes.end(), payload.begin(), payload.end());
  return segment;
}

Segment SegmentOf(const DdpUntagged& header, const Bytes& body) {
  Segment segment{.name = ToString(header.control.opcode), .line = LineOf(header.control)};
  segment.line.Add("ddp.qn", static_cast<uint64_t>(header.queue))
      .Add("ddp.msn", header.msn.value())
      .Add("ddp.mo", header.offset.value());
  Append(header, segment.bytes);
  segment.bytes.insert(segment.bytes.end(), body.begin(), body.end());
  return segment;
}

DdpUntagged HeaderOf(RdmapOpcode opcode, uint32_t msn) {
  return {.control = {.last = true, .opcode = opcode},
          .queue = FindRdmapOpcode(opcode)->queue,
          .msn = DdpMsn(msn)};
}

template <class Body>
Segment MessageOf(RdmapOpcode opcode, uint32_t msn, const Body& body) {
  return SegmentOf(HeaderOf(opcode, msn), Written(body));
}

Segment ReadRequestOf(Random& random, uint32_t msn) {
  const RdmapReadRequest read{.sink_stag = Key(random.Next32()),
                              .sink_offset = KeyAddress(random.Next64()),
                              .size = random.Next32(),
                              .source_stag = Key(random.Next32()),
                              .source_offset = KeyAddress(random.Next64())};
  Segment segment = MessageOf(RdmapOpcode::kReadRequest, msn, read);
  segment.line.Add("rdma.sinkstag", read.sink_stag.value())
      .Add("rdma.sinkto", read.sink_offset.value())
      .Add("rdma.rdmardsz", read.size)
      .Add("rdma.srcstag", read.source_stag.value())
      .Add("rdma.srcto", read.source_offset.value());
  return segment;
}

Segment AtomicOf(Random& random, RdmapAtomicOpcode opcode, uint32_t msn) {
  const RdmapAtomicRequest atomic{.opcode = opcode,
                                  .id = AtomicRequestId(random.Next32()),
                                  .stag = Key(random.Next32()),
                                  .offset = KeyAddress(random.Next64()),
                                  .add_or_swap = random.Next64(),
                                  .add_or_swap_mask = random.Next64(),
                                  .compare = random.Next64(),
                                  .compare_mask = random.Next64()};
  Segment segment = MessageOf(RdmapOpcode::kAtomicRequest, msn, atomic);
  const std::string kind = opcode == RdmapAtomicOpcode::kFetchAdd ? "add" : "swap";
  segment.line.Add("rdma.atomic.opcode", static_cast<uint64_t>(opcode))
      .Add("rdma.atomic.request_identifier", atomic.id.value())
      .Add("rdma.atomic.remote_stag", atomic.stag.value())
      .Add("rdma.atomic.remote_tagged_offset", atomic.offset.value())
      .Add("rdma.atomic." + kind + "_data", atomic.add_or_swap)
      .Add("rdma.atomic." + kind + "_mask", atomic.add_or_swap_mask)
      .Add("rdma.atomic.compare_data", atomic.compare)
      .Add("rdma.atomic.compare_mask", atomic.compare_mask);
  return segment;
}

Segment AtomicResponseOf(Random& random) {
  const RdmapAtomicResponse response{.id = AtomicRequestId(random.Next32()),
                                     .original = random.Next64()};
  Segment segment = MessageOf(RdmapOpcode::kAtomicResponse, 1, response);
  segment.line.Add("rdma.atomic.original_request_identifier", response.id.value())
      .Add("rdma.atomic.original_remote_data_value", response.original);
  return segment;
}

Segment TerminateOf(const RdmapTerminate& terminate) {
  Bytes body(terminate.size());
  terminate.Serialize(body);
  Segment segment = SegmentOf(HeaderOf(RdmapOpcode::kTerminate, 1), body);
  const auto code = static_cast<uint16_t>(terminate.code);
  const int layer = code >> 12;
  const int type = code >> 8 & 0xF;
  static const std::array<std::string, 3> kLayers = {"rdma", "ddp", "llp"};
  std::string error = kLayers.at(static_cast<size_t>(layer));
  segment.line.Add("rdma.term_layer", static_cast<uint64_t>(layer))
      .Add("rdma.term_etype_" + error, static_cast<uint64_t>(type));
  if (layer == 1) error += type == 1 ? "_tagged" : "_untagged";
  segment.line.Add("rdma.term_errcode_" + error, code & 0xFF)
      .Add("rdma.term_hdrct_m", terminate.segment_length.has_value())
      .Add("rdma.hdrct_d", terminate.header.index() != 0)
      .Add("rdma.hdrct_r", terminate.read_request.has_value());
  return segment;
}

std::vector<Segment> AllTerminates(Random& random) {
  const DdpTagged tagged{.control = {.tagged = true}, .stag = Key(random.Next32())};
  const DdpUntagged untagged = HeaderOf(RdmapOpcode::kReadRequest, 3);
  return {
      TerminateOf({.code = TerminateCode::kRdmapAccess,
                   .segment_length = 46,
                   .header = untagged,
                   .read_request = RdmapReadRequest{.size = 9}}),
      TerminateOf(
          {.code = TerminateCode::kDdpTaggedBounds, .segment_length = 100, .header = tagged}),
      TerminateOf(
          {.code = TerminateCode::kDdpUntaggedNoBuffer, .segment_length = 30, .header = untagged}),
      TerminateOf({.code = TerminateCode::kMpaCrc})};
}

std::vector<Segment> AllSegments(Random& random) {
  std::vector<Segment> segments;
  for (const auto opcode : {RdmapOpcode::kWrite, RdmapOpcode::kReadResponse}) {
    for (const bool last : {false, true}) {
      segments.push_back(SegmentOf({.control = {.tagged = true, .last = last, .opcode = opcode},
                                    .stag = Key(random.Next32()),
                                    .offset = KeyAddress(random.Next64())},
                                   RandomBytes(random, 1 + random.Below(60))));
    }
  }
  uint32_t msn = 0;
  for (const auto opcode : {RdmapOpcode::kSend, RdmapOpcode::kSendInvalidate,
                            RdmapOpcode::kSendSolicited, RdmapOpcode::kSendSolicitedInvalidate}) {
    DdpUntagged header = HeaderOf(opcode, ++msn);
    const bool invalidates = FindRdmapOpcode(opcode)->has_invalidate;
    if (invalidates) header.invalidate = Key(random.Next32());
    segments.push_back(SegmentOf(header, RandomBytes(random, 1 + random.Below(60))));
    if (invalidates) segments.back().line.Add("rdma.inval_stag", header.invalidate.value());
  }
  const RdmapImmediate immediate{.data = random.Next64()};
  segments.push_back(MessageOf(RdmapOpcode::kImmediate, ++msn, immediate));
  segments.push_back(MessageOf(RdmapOpcode::kImmediateSolicited, ++msn, immediate));
  segments.push_back(ReadRequestOf(random, 1));
  segments.push_back(AtomicOf(random, RdmapAtomicOpcode::kFetchAdd, 2));
  segments.push_back(AtomicOf(random, RdmapAtomicOpcode::kCompareSwap, 3));
  segments.push_back(AtomicResponseOf(random));
  for (Segment& segment : AllTerminates(random)) segments.push_back(std::move(segment));
  return segments;
}

struct Connection {
  IpAddress initiator;
  IpAddress responder;
  uint16_t port = 0;  // of the initiator
  uint8_t revision = 1;
  bool markers = false;  // in what the initiator sends
  bool crc = true;
};

// Writes one connection, each frame as a TCP segment of its own.
class Writer {
 public:
  Writer(PcapngWriter& file, const Connection& connection, int& frame)
      : file_(file), connection_(connection), frame_(frame) {}

  void WriteAll(Random& random) {
    WriteHandshake(random);
    for (const Segment& segment : AllSegments(random)) WriteFpdu(segment);
  }

 private:
  void WriteHandshake(Random& random) {
    const bool enhanced = connection_.revision == 2;
    Bytes data;
    if (enhanced) Append(MpaEnhanced{.peer_to_peer = true, .ird = 4, .rtr_read = true}, data);
    const Bytes more = RandomBytes(random, 24);
    data.insert(data.end(), more.begin(), more.end());
    MpaRequest frame{.kind = MpaFrameKind::kRequest,
                     .crc = connection_.crc,
                     .enhanced = enhanced,
                     .revision = connection_.revision,
                     .private_data_length = static_cast<uint16_t>(data.size())};
    WriteMpaFrame(frame, data, true);
    frame.kind = MpaFrameKind::kReply;
    frame.markers = connection_.markers;
    WriteMpaFrame(frame, data, false);
  }

  void WriteMpaFrame(const MpaRequest& frame, const Bytes& data, bool by_initiator) {
    Bytes bytes = Written(frame);
    bytes.insert(bytes.end(), data.begin(), data.end());
    const Line line = Line()
                          .Add("mpa.marker_flag", frame.markers)
                          .Add("mpa.crc_flag", frame.crc)
                          .Add("mpa.rej_flag", frame.rejects)
                          .Add("mpa.rev", frame.revision)
                          .Add("mpa.pdlength", frame.private_data_length);
    Write(by_initiator ? "MPA request" : "MPA reply", bytes, by_initiator, line);
  }

  void WriteFpdu(const Segment& segment) {
    const auto length = static_cast<uint16_t>(segment.bytes.size());
    Bytes frame(FpduContentSize(length));
    FpduHeader{.ulpdu_length = length}.Serialize(frame);
    std::ranges::copy(segment.bytes, frame.begin() + FpduHeader::kSize);
    Line line = segment.line;
    line.Add("mpa.ulpdulength", length);
    if (connection_.markers) {
      frame.resize(FpduSizeWithMarkers(length, at_));
      InsertMarkers(frame, at_);
      AddMarkers(frame, line);
    }
    SealFpdu(frame, connection_.crc);
    at_ = at_ + frame.size();
    Write(segment.name, frame, true, line);
  }

  void AddMarkers(const Bytes& frame, Line& line) const {
    const size_t first = BytesBetween(at_, MarkerAtOrAfter(at_));
    if (first >= frame.size()) return;
    const auto marker = MpaMarker::Parse(std::span(frame).subspan(first));
    line.Add("mpa.marker_fpduptr", marker->fpdu_pointer);
  }

  void Write(const std::string& name, const Bytes& bytes, bool by_initiator, const Line& line) {
    TcpHeader tcp{.sequence = by_initiator ? sent_ : answered_,
                  .acknowledgment = by_initiator ? answered_ : sent_,
                  .ack = true,
                  .window = 0xFFFF};
    (by_initiator ? tcp.source_port : tcp.destination_port) = connection_.port;
    (by_initiator ? tcp.destination_port : tcp.source_port) = 7471;
    const IpAddress& from = by_initiator ? connection_.initiator : connection_.responder;
    const IpAddress& to = by_initiator ? connection_.responder : connection_.initiator;
    file_.WriteTcp(Time(Microseconds(++frame_)), from, to, tcp, bytes);
    (by_initiator ? sent_ : answered_) += static_cast<uint32_t>(bytes.size());
    std::cout << "frame.number=" << frame_ << "\tname=" << name << "\tcrc=" << connection_.crc
              << line.text() << "\n";
  }

  PcapngWriter& file_;
  const Connection connection_;
  int& frame_;
  uint32_t sent_ = 1000;
  uint32_t answered_ = 5000;
  StreamOffset at_;  // of the next FPDU
};

void WriteAll(PcapngWriter& file) {
  Random random(1);
  int frame = 0;
  uint16_t port = 40'000;
  const std::pair<IpAddress, IpAddress> ipv6 = {
      {{0xFD, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
      {{0xFD, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}}};
  const std::pair<IpAddress, IpAddress> ipv4 = {IpAddress::FromIpv4(Ipv4Address(0x0A000001)),
                                                IpAddress::FromIpv4(Ipv4Address(0x0A000002))};
  for (const auto& [initiator, responder] : {ipv4, ipv6}) {
    for (const uint8_t revision : {uint8_t{1}, uint8_t{2}}) {
      for (const bool crc : {true, false}) {
        const Connection connection{initiator, responder, ++port, revision, false, crc};
        Writer(file, connection, frame).WriteAll(random);
      }
    }
    Writer(file, {initiator, responder, ++port, 1, true, true}, frame).WriteAll(random);
  }
}

}  // namespace
}  // namespace verbena::wire

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: iwarp_capture FILE.pcapng\n";
    return 2;
  }
  std::ofstream file(argv[1], std::ios::binary);
  verbena::wire::PcapngWriter writer([&file](std::span<const std::byte> bytes) {
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  });
  verbena::wire::WriteAll(writer);
  file.close();
  return file.good() ? 0 : 1;
}
