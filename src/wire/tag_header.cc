#include "wire/tag_header.h"

#include "wire/text.h"

namespace verbena::wire {
namespace {

const char* NameOf(TagOpcode operation) {
  switch (operation) {
    case TagOpcode::kNoTag:
      return "no tag";
    case TagOpcode::kRendezvous:
      return "rendezvous";
    case TagOpcode::kFinished:
      return "finished";
    case TagOpcode::kEager:
      return "eager";
  }
  return "unknown";
}

}  // namespace

std::string ToString(const TagHeader& header) {
  return std::string("TMH ") + NameOf(header.operation) + ", tag " + Hex(header.tag, 16) +
         ", context " + Hex(header.context, 8);
}

std::string ToString(const RendezvousHeader& header) {
  return "RVH address " + Hex(header.address, 16) + ", R_Key " + Hex(header.r_key, 8) +
         ", length " + std::to_string(header.length);
}

}  // namespace verbena::wire
