// Where the states of a trace document stand in a drawing: in layers, so that every step leads down.
// Sugiyama, Tagawa, Toda, Methods for Visual Understanding of Hierarchical System Structures, 1981; within a layer,
// states stand as near to the mean of their neighbours as the distance between them allows.

const SWEEPS = 6;

/** For each state its place: x in units of the least distance, y the layer; and how wide and deep all of it is. */
export function layout({ states, edges, steps, tasks }) {
  const below = states.map(() => []);
  const above = states.map(() => []);
  for (const { source, target } of edges) {
    if (target !== null && !below[source].includes(target)) {
      below[source].push(target);
      above[target].push(source);
    }
  }
  const order = sorted(below);
  const y = new Array(states.length).fill(0);
  for (const here of order) for (const to of below[here]) y[to] = Math.max(y[to], y[here] + 1);
  const x = progress(states, edges, steps, tasks);
  const layers = Array.from({ length: Math.max(...y) + 1 }, () => []);
  for (const here of order) layers[y[here]].push(here);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : layers.toReversed()) {
      const mean = (here) => {
        const around = down ? above[here] : below[here];
        return around.length && sweep ? around.reduce((sum, to) => sum + x[to], 0) / around.length : x[here];
      };
      const wanted = layer.map((here) => [mean(here), here]).sort(([a, one], [b, other]) => a - b || one - other);
      spread(wanted.map(([at]) => at)).forEach((at, k) => (x[wanted[k][1]] = at));
    }
  }
  const left = Math.min(...x);
  return { x: x.map((at) => at - left), y, wide: Math.max(...x) - left, deep: layers.length - 1 };
}

/** The states so that every step leads to a later one. */
function sorted(below) {
  const done = new Array(below.length).fill(false);
  const found = [];
  for (let root = 0; root < below.length; root += 1) {
    const work = [[root, 0]];
    while (work.length) {
      const [here, next] = work.at(-1);
      if (done[here] || next === below[here].length) {
        work.pop();
        if (!done[here]) found.push(here);
        done[here] = true;
      } else {
        work.at(-1)[1] += 1;
        work.push([below[here][next], 0]);
      }
    }
  }
  return found.reverse();
}

/** A first guess: steps of the first tasks lead to the left, those of the last ones to the right. */
function progress(states, edges, steps, tasks) {
  const x = new Array(states.length).fill(null);
  x[0] = 0;
  const work = [0];
  for (const here of work) {
    for (const place of states[here].enabled) {
      const { target, step } = edges[place];
      if (target !== null && x[target] === null) {
        x[target] = x[here] + (tasks.length > 1 ? tasks.indexOf(steps[step].task) / (tasks.length - 1) - 0.5 : 0);
        work.push(target);
      }
    }
  }
  return x.map((at) => at ?? 0);
}

/** Places at least 1 apart, in the order wanted, as near to what is wanted as can be. */
function spread(wanted) {
  const blocks = [];
  wanted.forEach((at, k) => {
    let block = { sum: at - k, size: 1 };
    while (blocks.length && blocks.at(-1).sum / blocks.at(-1).size > block.sum / block.size) {
      const last = blocks.pop();
      block = { sum: last.sum + block.sum, size: last.size + block.size };
    }
    blocks.push(block);
  });
  return blocks.flatMap(({ sum, size }) => new Array(size).fill(sum / size)).map((at, k) => at + k);
}
