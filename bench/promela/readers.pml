/* A process writes a cell, and N read it. */
byte cell;

proctype writer() {
  cell = 1
}

proctype reader() {
  byte seen;
  seen = cell
}

init {
  byte n;
  atomic {
    run writer();
    for (n : 1 .. N) { run reader() }
  }
}
