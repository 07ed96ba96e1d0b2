#include "cli/preload.h"

#include <cstdlib>
#include <string>

namespace verbena::cli {
namespace {

// Adds a word to a variable that holds a list with colons, unless the list has it.
void Append(const char* variable, const std::string& word) {
  const char* const before = std::getenv(variable);
  std::string words = before != nullptr ? before : "";
  if ((":" + words + ":").find(":" + word + ":") != std::string::npos) return;
  if (!words.empty()) words += ':';
  setenv(variable, (words + word).c_str(), 1);
}

}  // namespace

void Preload(const std::filesystem::path& library) {
  // LD_PRELOAD splits at colons and spaces, so a path that contains one cannot be in it: then the
  // library is found by its name.
  const bool has_separator = library.string().find_first_of(": ") != std::string::npos;
  Append("LD_PRELOAD", has_separator ? library.filename() : library);
  // A program that is built with ASan refuses to start if another library comes before ASan's. The
  // check guards against libraries that replace malloc, which none of these does.
  Append("ASAN_OPTIONS", "verify_asan_link_order=0");
}

}  // namespace verbena::cli
