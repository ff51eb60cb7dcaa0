/* Gustavson's product of two N x N matrices: T processes take the next column in one step until there is none, sum it in
   a workspace of their own, and append it to a list of their own. */
byte A[N * N], B[N * N];
byte next;
byte owner[N], first[N], last[N];
byte row[T * N * N], value[T * N * N];

proctype task(byte me) {
  byte i, j, k, size;
  byte w[N];
  do
  :: d_step {
       j = next;
       if
       :: next < N -> next++
       :: else
       fi
     };
     if
     :: j < N ->
        for (i : 0 .. N - 1) { w[i] = 0 };
        for (k : 0 .. N - 1) {
          for (i : 0 .. N - 1) { w[i] = w[i] + A[i * N + k] * B[k * N + j] }
        };
        owner[j] = me;
        first[j] = size;
        for (i : 0 .. N - 1) {
          if
          :: w[i] != 0 ->
             row[me * N * N + size] = i;
             value[me * N * N + size] = w[i];
             size++
          :: else
          fi
        };
        last[j] = size
     :: else -> break
     fi
  od
}

init {
  byte n;
  d_step { for (n : 0 .. N * N - 1) { A[n] = (n + 1) % 3; B[n] = (2 * n + 1) % 3 } };
  atomic { for (n : 0 .. T - 1) { run task(n) } }
}
