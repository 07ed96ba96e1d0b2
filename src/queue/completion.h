#pragma once

#include "queue/wqe.h"
#include "verbena/completion.h"

namespace verbena::queue {

// As which a send-queue element completes.
CompletionOpcode CompletionOpcodeOf(SendOpcode opcode);

}  // namespace verbena::queue
