/* N processes take the next of B chunks in one step until there is none, and write a cell for each. */
byte next;
byte cell[B];

proctype task() {
  byte mine;
  do
  :: d_step {
       mine = next;
       if
       :: next < B -> next++
       :: else
       fi
     };
     if
     :: mine < B -> cell[mine] = 1
     :: else -> break
     fi
  od
}

init {
  byte n;
  atomic { for (n : 1 .. N) { run task() } }
}
