#pragma once

namespace verbena::cli {

// Gives each of the files 0 to 2 that is closed a file that refuses to be written, until another
// program takes this one's place. Otherwise the next socket has the number, and gets what is
// printed.
void OpenStandardFiles();

// Whether all that was printed is written. Says on standard error why not.
[[nodiscard]] bool FlushOutput();

}  // namespace verbena::cli
