import type { Budget } from '../../budget.js';
import type { Random } from '../../random.js';
import { ProvisioningState } from './state.js';

/** An overbooked server costs more than any way the traffic can take. */
function energyOf({ cost_us, overbooked }: ProvisioningState, fine: number): number {
  return cost_us + fine * (overbooked > 0 ? 1 + overbooked : 0);
}

/**
 * Simulated annealing over where instances stand and which share of the traffic they process, then a descent that
 * shifts traffic between servers. Leaves the best found in `state`. A step is one move.
 */
export function anneal(state: ProvisioningState, budget: Budget, random: Random): void {
  const { problem } = state;
  const longest = Math.max(0, ...problem.delay_us.flat());
  const fine = 2 * longest * Math.max(1, problem.edges.length) + 1;
  const best = new ProvisioningState(problem);
  const before = new ProvisioningState(problem);
  best.copyFrom(state);
  let energy = energyOf(state, fine);
  let least = energy;
  const [hot, cold] = [Math.max(longest, 1e-9) * 0.3, Math.max(longest, 1e-9) * 0.002];
  for (let step = 0; step < budget.steps && least > 0; step++) {
    if ((step & 63) === 0 && budget.expired?.()) break;
    before.copyFrom(state);
    if (!move(state, random)) continue;
    state.evaluate();
    const next = energyOf(state, fine);
    const heat = hot * (cold / hot) ** (step / budget.steps);
    if (next > energy && random() >= Math.exp((energy - next) / heat)) state.copyFrom(before);
    else energy = next;
    if (energy < least - 1e-12) {
      least = energy;
      best.copyFrom(state);
    }
  }
  state.copyFrom(best);
  shiftTraffic(state, fine, budget);
}

function move(state: ProvisioningState, random: Random): boolean {
  const { n, s, counts } = state;
  const pick = (below: number) => Math.floor(random() * below);
  const nf = pick(n);
  const kind = random();
  if (kind < 0.25) {
    follow(state, nf, random);
    return true;
  }
  const from = pick(s);
  const to = pick(s);
  if (from === to || counts[nf * s + from] === 0 || !state.allows(nf, to)) return false;
  state.put(nf, from, -1);
  state.put(nf, to, 1);
  if (kind < 0.6) {
    const other = pick(n);
    if (other !== nf && counts[other * s + to]! > 0 && state.allows(other, from)) {
      state.put(other, to, -1);
      state.put(other, from, 1);
      follow(state, other, random);
    }
  }
  follow(state, nf, random);
  return true;
}

/** Spreads an NF's traffic as that of one of its neighbours, or of all of them, is spread. */
function follow(state: ProvisioningState, nf: number, random: Random): void {
  const { s, shares, problem } = state;
  const near: number[] = [];
  for (const { from, to } of problem.edges) {
    if (from === nf) near.push(to);
    if (to === nf) near.push(from);
  }
  if (near.length === 0) {
    state.spreadEvenly(nf);
    return;
  }
  const pick = Math.floor(random() * (near.length + 1));
  const whom = pick === near.length ? near : [near[pick]!];
  state.spread(nf, (k) => whom.reduce((sum, it) => sum + shares[it * s + k]!, 0) / whom.length);
}

/** Most evaluations that the last descent may take. */
const MAX_SHIFTS = 20_000;

/** Shifts traffic of one NF, or of NFs that follow one another, from server to server as long as that saves something. */
function shiftTraffic(state: ProvisioningState, fine: number, budget: Budget): void {
  const groups = neighbourGroups(state);
  let left = MAX_SHIFTS;
  for (let improved = true; improved && left > 0 && state.cost_us > 0; ) {
    improved = false;
    for (const group of groups) {
      for (let pair = 0; pair < state.s * state.s && left > 0; pair++) {
        const from = Math.floor(pair / state.s);
        const to = pair - from * state.s;
        if (from === to) continue;
        const amounts = amountsOf(state, group, from, to);
        left -= amounts.length;
        if (amounts.length > 0 && shift(state, group, from, to, amounts, fine)) improved = true;
        if (budget.expired?.()) return;
      }
    }
  }
}

/** Single NFs, and paths of up to four along the edges. */
function neighbourGroups({ n, problem }: ProvisioningState): number[][] {
  const groups = Array.from({ length: n }, (_, i) => [i]);
  let last = groups;
  for (let size = 2; size <= 4; size++) {
    last = last.flatMap((group) =>
      problem.edges.flatMap(({ from, to }) => (from === group.at(-1) && !group.includes(to) ? [[...group, to]] : [])),
    );
    groups.push(...last.slice(0, 200));
  }
  return groups;
}

/** The most that can go, and less where a neighbour's share ends. */
function amountsOf({ s, shares, counts, problem }: ProvisioningState, group: number[], from: number, to: number) {
  let most = 1;
  const ends: number[] = [];
  for (const nf of group) {
    const unit = problem.nfs[nf]!.instance_rate_bps / problem.rate_bps;
    const room = counts[nf * s + to]! * unit - shares[nf * s + to]!;
    most = Math.min(most, shares[nf * s + from]!, room);
  }
  if (most <= 1e-12) return [];
  for (const edge of problem.edges) {
    if (group.includes(edge.from) === group.includes(edge.to)) continue;
    for (const k of [from, to]) {
      const apart = Math.abs(shares[edge.from * s + k]! - shares[edge.to * s + k]!);
      if (apart > 1e-12 && apart < most) ends.push(apart);
    }
  }
  return [most, ...ends];
}

function shift(state: ProvisioningState, group: number[], from: number, to: number, amounts: number[], fine: number) {
  const { s, shares } = state;
  const start = energyOf(state, fine);
  const by = (amount: number) => {
    for (const nf of group) {
      shares[nf * s + from]! -= amount;
      shares[nf * s + to]! += amount;
    }
  };
  let best = { amount: 0, energy: start - 1e-9 * (1 + start) };
  for (const amount of amounts) {
    by(amount);
    state.evaluate();
    const energy = energyOf(state, fine);
    if (energy < best.energy) best = { amount, energy };
    by(-amount);
  }
  by(best.amount);
  state.evaluate();
  return best.amount > 0;
}
