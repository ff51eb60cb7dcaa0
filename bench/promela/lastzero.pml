/* Process j writes cell j - 1 plus one to cell j; another one looks for the last cell that is zero, from above. */
byte cell[N + 1];

proctype scan() {
  byte at = N;
  byte seen;
  do
  :: seen = cell[at];
     if
     :: seen == 0 -> break
     :: else -> at--
     fi
  od
}

proctype write(byte at) {
  byte seen;
  seen = cell[at - 1];
  cell[at] = seen + 1
}

init {
  byte n;
  atomic {
    run scan();
    for (n : 1 .. N) { run write(n) }
  }
}
