/* N processes write a cell each. */
byte cell[N];

proctype task(byte at) {
  cell[at] = 1
}

init {
  byte n;
  atomic { for (n : 0 .. N - 1) { run task(n) } }
}
