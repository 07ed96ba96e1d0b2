/* The quiesce protocol of docs/quiesce.md, for the model checker Spin.
 *
 * One region with its current-I/O word; consumers that count (each operation is a command, followed
 * by an RDMA of the peer, which nothing but the count shows); a stray access that is not counted;
 * the host, which takes the memory and gives it back; the adapter, whose valid bit decides every
 * access. Every step of a process is one atomic change that the code makes, too.
 *
 * What is checked:
 *   safety    an access never finds the memory away (the assertions), neither one that was
 *             counted nor a stray one
 *   progress  every consumer does all its operations, and the stray access ends, refused or served:
 *             the claim `all_done`
 *
 * Mistakes that must be found, one at a time:
 *   -DMISTAKE_VALID_BIT_EARLY     the memory is taken before the count is zero
 *   -DMISTAKE_NO_VALID_BIT        the memory is taken and the valid bit is left on
 *   -DMISTAKE_COUNT_BY_ADAPTER    the adapter counts what it sees: nothing, between a command and
 *                                 the peer's RDMA
 *   -DMISTAKE_INTEREST_BEFORE_BIT the host looks at interest, and clears it in a later step
 *   -DMISTAKE_LAST_END_SILENT     the last operation ends without the call
 *   -DMISTAKE_CALL_IS_TRUSTED     the host believes a call that is late
 *
 *   python3 tools/check_models.py       all of it, in seconds
 *   spin -a quiesce.pml && gcc -O2 -o pan pan.c && ./pan -a
 *   spin -t quiesce.pml                 how an error came about
 */

#define CONSUMERS 2
#define OPERATIONS 2 /* of each consumer */
#define ROUNDS 2     /* of the host: out and in again */

/* The word: one atomic variable in the code, so every change below is in one atomic step. */
bool quiesce = false;
bool interest = false;
byte count = 0;

/* The adapter. */
bool valid = true;      /* the region's valid bit */
bool there = true;      /* the memory is the region's */
byte waiting = 0;       /* accesses that wait for the region: faults */
byte adapter_count = 0; /* operations that the adapter sees */

/* Calls and events: they are remembered until they are taken. */
bool quiesced_call = false;
bool awaited_event = false;
bool woken[CONSUMERS];

byte done = 0; /* processes that have done all their work */

/* An access of a counted operation: the protocol promises that it is served at once. */
inline TouchCounted() {
  atomic {
    assert(valid);
    assert(there);
  }
}

/* Begin, or find the region quiesced and register interest. */
inline Begin(started, id) {
  atomic {
    if
    :: !quiesce -> count++; adapter_count++; started = true
    :: else -> started = false
    fi
  }
  if
  :: started -> skip
  :: else ->
    atomic {
      if
      :: quiesce -> interest = true; awaited_event = true
      :: else -> woken[id] = true /* it has been resumed: begin again */
      fi
    }
    atomic { woken[id] -> woken[id] = false }
  fi
}

/* The last one while the host waits makes the call, which may be late. */
inline End(last) {
  atomic { count--; last = (count == 0 && quiesce) }
#ifndef MISTAKE_LAST_END_SILENT
  if
  :: last -> quiesced_call = true
  :: else -> skip
  fi
#endif
}

proctype Consumer(byte id) {
  byte left = OPERATIONS;
  bool started = false;
  bool last = false;
  do
  :: left > 0 ->
    Begin(started, id);
    if
    :: started ->
      TouchCounted(); /* the command is read from the region and sent */
      atomic { adapter_count-- } /* acknowledged: the adapter sees nothing under way */
      TouchCounted(); /* the RDMA of the peer, and its reply */
      End(last);
      left--
    :: else -> skip
    fi
  :: else -> break
  od;
  atomic { done++ }
}

/* An access that is not counted: a peer at the wrong moment. It is served while the valid bit is on,
 * and otherwise waits, which is interest. */
proctype Stray() {
  atomic {
    if
    :: valid -> assert(there)
    :: else -> waiting++; awaited_event = true
    fi
  }
  atomic { (waiting == 0 || valid) -> done++ }
}

/* Sets the bit and waits until the region is quiet, by the count of the consumers and never by that
 * of the adapter. A call may be of a quiesce that is over: the word says how it is. */
inline Quiesce(quiet) {
  atomic { quiesce = true; awaited_event = false; quiet = (count == 0) }
#if defined(MISTAKE_VALID_BIT_EARLY)
  skip
#elif defined(MISTAKE_COUNT_BY_ADAPTER)
  atomic { adapter_count == 0 }
#else
  do
  :: quiet -> break
  :: !quiet -> goto resume /* it needs the memory no more */
  :: !quiet ->
    atomic {
      quiesced_call -> quiesced_call = false;
#ifdef MISTAKE_CALL_IS_TRUSTED
      quiet = true
#else
      quiet = (count == 0)
#endif
    }
  od
#endif
}

/* Ends quiesce and interest in one step, and wakes the consumers that have interest. */
inline Resume() {
  byte i;
  bool had_interest;
#ifdef MISTAKE_INTEREST_BEFORE_BIT
  atomic { had_interest = interest }
  atomic { interest = false; quiesce = false }
#else
  atomic { had_interest = interest; interest = false; quiesce = false }
#endif
  if
  :: had_interest ->
    for (i : 0 .. CONSUMERS - 1) { woken[i] = true }
  :: else -> skip
  fi
}

proctype Host() {
  byte rounds = ROUNDS;
  bool quiet = false;
  do
  :: rounds > 0 ->
    Quiesce(quiet);
#ifndef MISTAKE_NO_VALID_BIT
    atomic { valid = false }
#endif
    atomic { there = false } /* the memory is another's */
    /* Without interest it may stay out for long; here it comes back when all else stands. */
    if
    :: awaited_event
    :: timeout
    fi;
    atomic { there = true } /* at another place; the tables say so */
    atomic { valid = true; waiting = 0 }
resume:
    Resume();
    rounds--
  :: else -> break
  od;
  atomic { done++ }
}

init {
  byte i;
  atomic {
    for (i : 0 .. CONSUMERS - 1) { run Consumer(i) }
    run Stray();
    run Host()
  }
}

/* Nothing waits for ever. */
ltl all_done { <> (done == CONSUMERS + 2) }
