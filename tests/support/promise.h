#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

namespace verbena {

// How many members an aggregate has: as many as it can be initialised by.
struct AnyMember {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor): that is all it is for
};

template <class T, size_t... kMembers>
constexpr bool TakesMembers(std::index_sequence<kMembers...> /*members*/) {
  return requires { T{(static_cast<void>(kMembers), AnyMember{})...}; };
}

template <class T, size_t kCount = 0>
constexpr size_t MemberCount() {
  if constexpr (TakesMembers<T>(std::make_index_sequence<kCount + 1>{})) {
    return MemberCount<T, kCount + 1>();
  } else {
    return kCount;
  }
}

// A test beside the sources that shows what this one cannot: "adapter/loop/trace_test.cc" and its
// "OneTraceTest, AChildWritesNothing".
struct TestElsewhere {
  const char* file = nullptr;
  const char* name = nullptr;
};

inline bool Exists(const TestElsewhere& test) {
  const auto source = std::filesystem::path(__FILE__).parent_path() / "../../src" / test.file;
  std::ifstream file(source);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.find("(" + std::string(test.name) + ")") != std::string::npos;
}

}  // namespace verbena
