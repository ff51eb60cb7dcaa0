/* N processes add one to a cell by load and store. */
byte cell;

proctype task() {
  byte seen;
  seen = cell;
  cell = seen + 1
}

init {
  byte n;
  atomic { for (n : 1 .. N) { run task() } }
}
