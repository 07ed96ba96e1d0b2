#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

namespace verbena {

// Counts the members of an aggregate: the most initializers that it accepts.
struct AnyMember {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor): must convert implicitly
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

// A unit test in src that shows what this test cannot, such as "OneTraceTest, AChildWritesNothing"
// in "adapter/loop/trace_test.cc".
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
