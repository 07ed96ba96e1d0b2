#pragma once

#include <cstddef>
#include <cstdint>

#include "verbena/numbers.h"

namespace verbena::memory {

// Five address spaces meet in this folder, and each has a type of its own, because every bug worth
// having here is an address of one space used in another.
//
//   key address        what a work request or packet carries beside a key: verbena/numbers.h
//   effective address  what a process calls its memory; needs its segment table
//   virtual address    what the operating system calls it; needs a page table
//   physical address   what the page table yields: machine memory for the host, a guest's idea of
//                      machine memory for a guest
//   machine address    where the bytes are, as this process can reach them: the end of every path
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
