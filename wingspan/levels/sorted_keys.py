"""What levels have in common whose frozen form lists entries in order, fiber by fiber; as text in the buffer language.

In all of them ptr[p] ≤ k < ptr[p+1] are the entries of fiber p. `UNION` coalesces them by the operations ::

    entry(p, k) → index of entry k of fiber p       below(p, k) → its child
    insert(p, i) → child                            a new entry, after all of those before it

`KEYED` are the operations of those that list the *keys* of the entries, (p - 1)·n + i, in `srt`.
"""

UNION = """
    def coalesce(local, global_, task, m, P):
        made = 0
        a = 1
        while a <= m:
            g = global_[a]
            b = a
            while global_[b] == g:
                here[b] = lvl[task[b]].ptr[local[b]]
                b = b + 1
            least = 1
            while least <= n:
                least = n + 1
                k = a
                while k < b:
                    t = task[k]
                    p = local[k]
                    q = here[k]
                    if q < lvl[t].ptr[p + 1]:
                        i = lvl[t].entry(p, q)
                        if i < least:
                            least = i
                    k = k + 1
                if least <= n:
                    new = lvl.insert(g, least)
                    k = a
                    while k < b:
                        t = task[k]
                        p = local[k]
                        q = here[k]
                        if q < lvl[t].ptr[p + 1]:
                            if lvl[t].entry(p, q) == least:
                                made = made + 1
                                locals[made] = lvl[t].below(p, q)
                                globals[made] = new
                                tasks[made] = t
                                here[k] = q + 1
                        k = k + 1
            a = b
        globals[made + 1] = 0
        child.coalesce(locals, globals, tasks, made, P)
"""

KEYED = """
    def split(P, entries):
        sort(srt, entries)
        ptr[1] = 1
        k = 1
        p = 1
        while p <= P:
            inside = k <= entries
            while inside:
                inside = srt[k] <= p * n
                if inside:
                    k = k + 1
                    inside = k <= entries
            ptr[p + 1] = k
            p = p + 1
    def entry(p, k):
        return srt[k] - (p - 1) * n

    def unfurl(c):
        c.k = ptr[c.p]
        c.end = ptr[c.p + 1]
        c.seen = 0
        c.q = 0
        c.key = 0
        if c.k < c.end:
            c.key = srt[c.k]
    def seek(c, i):
        high = c.end
        step = 1
        near = c.k
        while near < high:
            if srt[near] < (c.p - 1) * n + i:
                c.k = near + 1
                near = near + step
                step = step + step
            else:
                high = near
        while c.k < high:
            middle = (c.k + high) // 2
            if srt[middle] < (c.p - 1) * n + i:
                c.k = middle + 1
            else:
                high = middle
        if c.k < c.end:
            c.key = srt[c.k]
    def index(c):
        return c.key - (c.p - 1) * n if c.k < c.end else 0
    def next(c, i):
        if lvl.index(c) == i:
            c.k = c.k + 1
            if c.k < c.end:
                c.key = srt[c.k]

    def open(c):
        c.k = 0
        c.end = 0
        c.key = 0
        c.q = 0
        c.seen = 0
    def close(c):
        pass
"""
