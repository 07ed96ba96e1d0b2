#pragma once

#include <cstdint>
#include <type_traits>

namespace verbena {

// The numbers of the verbs, each a type of its own, so that one cannot be passed where another is
// meant: QpNumber{17}. Number() gives the integer back.

enum class WrId : uint64_t {};       // of a work request: the program's own
enum class QpNumber : uint32_t {};   // 24 bits
enum class Psn : uint32_t {};        // packet sequence number, 24 bits
enum class Key : uint32_t {};        // L_Key or R_Key: 24 bits of index, 8 of variant
enum class QKey : uint32_t {};       // of datagrams
enum class Immediate : uint32_t {};  // in network byte order, as the verbs have it
enum class AddressHandleId : uint32_t {};

// Which completion queue, or shared receive queue, an event is of.
enum class CqId : uintptr_t {};
enum class SrqId : uintptr_t {};
enum class TagHandle : uint32_t {};  // of a tagged receive

template <class T>
requires std::is_enum_v<T>
[[nodiscard]] constexpr std::underlying_type_t<T> Number(T number) {
  return static_cast<std::underlying_type_t<T>>(number);
}

// The same entry in its next life: what a program chooses when it binds a window, or registers by
// work request a second time.
[[nodiscard]] constexpr Key NextKey(Key key) {
  constexpr uint32_t kVariant = 0xFF;
  return Key{(Number(key) & ~kVariant) | ((Number(key) + 1) & kVariant)};
}

}  // namespace verbena
