"use strict";
// What the filters change of the metrics: the profile of the programs and contestants that are left.
// A test holds it against benchmarks/metrics.
function ascending(a, b) { return a - b; }

// A large block of times in common, found as benchmarks/metrics/tables.py does: who was
// measured on other programs was not compared. "of" has the times of each program by contestant.
function block(of, programs, contestants) {
  const attempted = contestants.map((c) => [c, programs.filter((p) => of[p].get(c)?.attempted)]);
  let best = { size: 0, who: [], programs: [] };
  for (let first = 0; first < attempted.length; first += 1) {
    let left = attempted.filter((_, i) => i !== first);
    let [, common] = attempted[first];
    const taken = [attempted[first][0]];
    while (common.length) {
      const size = common.length * taken.length;
      if (size > best.size || (size === best.size && taken.length > best.who.length))
        best = { size, who: [...taken], programs: common };
      if (!left.length) break;
      const shared = left.map(([, seen]) => seen.filter((p) => common.includes(p)));
      const sizes = shared.map((s) => s.length);
      const at = sizes.indexOf(Math.max(...sizes));
      common = shared[at];
      taken.push(left[at][0]);
      left = left.filter((_, i) => i !== at);
    }
  }
  return { who: contestants.filter((c) => best.who.includes(c)), programs: best.programs };
}

// Dolan and More: the share of programs on which a contestant takes at most tau times the fastest.
function performanceProfile(of, programs, contestants) {
  const found = block(of, programs, contestants);
  const seconds = (p, c) => Number(of[p].get(c).seconds);
  const ratios = found.who.map((c) => found.programs.map((p) => {
    const fastest = Math.min(...found.who.map((w) => seconds(p, w)));
    return Number.isFinite(fastest) ? seconds(p, c) / fastest : Infinity;
  }).sort(ascending));
  return { ...found, ratios };
}
function share(ratios, tau) {
  return ratios.filter((r) => r <= tau && r < Infinity).length / ratios.length;
}
