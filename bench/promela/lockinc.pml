/* N processes add one to a cell by load and store under a lock. */
byte cell;
bool held;

proctype task() {
  byte seen;
  atomic { !held; held = true };
  seen = cell;
  cell = seen + 1;
  held = false
}

init {
  byte n;
  atomic { for (n : 1 .. N) { run task() } }
}
