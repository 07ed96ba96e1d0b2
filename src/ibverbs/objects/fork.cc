// What programs that fork ask for.

#include <infiniband/verbs.h>

// The adapter reaches memory by the process's own page tables, so a page that is copied after a
// fork is found where it is: there is nothing to prepare.
int ibv_fork_init() { return 0; }

ibv_fork_status ibv_is_fork_initialized() { return IBV_FORK_UNNEEDED; }
