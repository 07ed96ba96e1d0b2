// ibv_fork_init and ibv_is_fork_initialized.

#include <infiniband/verbs.h>

// The adapter accesses memory through the page tables of the process, so it finds pages that
// copy-on-write replaces after a fork. There is nothing to prepare.
int ibv_fork_init() { return 0; }

ibv_fork_status ibv_is_fork_initialized() { return IBV_FORK_UNNEEDED; }
