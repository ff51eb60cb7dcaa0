/* N processes add one to K cells by load and store, each to one cell, in turn. */
byte cell[K];

proctype task(byte at) {
  byte seen;
  seen = cell[at];
  cell[at] = seen + 1
}

init {
  byte n;
  atomic { for (n : 0 .. N - 1) { run task(n % K) } }
}
