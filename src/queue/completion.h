#pragma once

#include "queue/wqe.h"
#include "verbena/completion.h"

namespace verbena::queue {

// The completion opcode of a send-queue element.
CompletionOpcode CompletionOpcodeOf(SendOpcode opcode);

}  // namespace verbena::queue
