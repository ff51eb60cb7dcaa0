/* N processes put four keys each into a table of 128 slots, by compare-and-swap and linear probing. */
byte table[128];

proctype task(byte number) {
  byte turn, key, slot;
  bool put;
  for (turn : 1 .. 4) {
    d_step { key = 11 * turn + number; slot = (7 * key) % 128; put = false };
    do
    :: put -> break
    :: else ->
       d_step {
         if
         :: table[slot] == 0 -> table[slot] = key; put = true
         :: else -> slot = (slot + 1) % 128
         fi
       }
    od
  }
}

init {
  byte n;
  atomic { for (n : 0 .. N - 1) { run task(n) } }
}
