#pragma once

#include <cstddef>
#include <cstdint>

#include "verbena/numbers.h"

namespace verbena::memory {

// The five address spaces of this folder. Each has its own type, so that an address of one space
// cannot be used in another by mistake.
//
//   key address        the address next to a key in a work request or packet: verbena/numbers.h
//   effective address  the address that a process uses; translated by its segment table
//   virtual address    the address of the operating system; translated by a page table
//   physical address   the result of the page table: machine memory for the host, guest-physical
//                      memory for a guest
//   machine address    the address of the bytes in this process: the result of all translations
using EffectiveAddress = StrongId<struct EffectiveAddressTag, uint64_t>;
using VirtualAddress = StrongId<struct VirtualAddressTag, uint64_t>;
using PhysicalAddress = StrongId<struct PhysicalAddressTag, uint64_t>;
using MachineAddress = StrongId<struct MachineAddressTag, uint64_t>;

inline MachineAddress MachineAddressOf(const void* pointer) {
  return MachineAddress(reinterpret_cast<uintptr_t>(pointer));
}

inline std::byte* PointerTo(MachineAddress address) {
  return reinterpret_cast<std::byte*>(static_cast<uintptr_t>(address.value()));
}

}  // namespace verbena::memory
