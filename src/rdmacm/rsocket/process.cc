#include "rdmacm/rsocket/process.h"

namespace verbena::rsockets {

Process& ThisProcess() {
  static Process& process = *new Process;
  return process;
}

}  // namespace verbena::rsockets
