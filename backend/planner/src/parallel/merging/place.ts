import { BadProblem, requireAtLeast, requireAtMost } from '../../bad-problem.js';
import type { Constraint } from '../../placement/problem.js';

export const MAX_MERGE_SERVERS = 64;

/** A server by index, or the switch to which all servers and hosts are linked. */
export type Spot = number | 'switch';

/** Where the NFs of one parallel step stand (HydraNF 6.5.2). */
export interface MergeProblem {
  readonly servers: readonly { readonly id: string; readonly link_bps: number }[];
  /** Where packets are before the step, and where they go behind it; `switch` for hosts. */
  readonly upstream: Spot;
  readonly downstream: Spot;
  /** Servers of the NFs of each branch, in order. */
  readonly branches: readonly (readonly number[])[];
  /** The merge needs a copy straight from the mirror. */
  readonly sends_original: boolean;
  readonly packet_bytes: number;
  readonly rate_pps: number;
  readonly switch_mirrors: boolean;
  readonly switch_merges: boolean;
}

interface MergeOption {
  readonly mirror: Spot;
  readonly merge: Spot;
  /**
   * One copy goes to each server and is mirrored again there, and what a server's branches give is xored there before it
   * leaves: a mirror and a merge split over servers.
   */
  readonly split: boolean;
}

interface MergeCost {
  /** Times that a packet or a copy enters the switch from a server. */
  readonly switch_traversals: number;
  /** Bytes for each packet over all links between servers and switch. */
  readonly link_bytes: number;
  readonly busiest_link_bytes: number;
}

interface MergeCandidate extends MergeOption, MergeCost {
  readonly title: string;
  readonly because: string;
  readonly constraint: Constraint | null;
}

interface MergePlacement {
  /** `null`: every option fills a link. */
  readonly chosen: MergeCandidate | null;
  readonly rejected: readonly MergeCandidate[];
}

/**
 * Places mirror and merge of a parallel step with the fewest bytes over links, then the fewest switch traversals, then
 * the least on the busiest link. All options are counted, so that none is better. Errors: `BadProblem`.
 *
 * If every branch writes, the xor also needs the packet as it was: one more copy, unless mirror and merge share a place or the
 * merge's server gets a copy that is mirrored again there.
 */
export function placeMirrorAndMerge(problem: MergeProblem): MergePlacement {
  check(problem);
  const all = options(problem).map((option) => ({ option, count: countOf(problem, option) }));
  const judged = all.map(({ option, count }) => ({
    ...option,
    ...costOf(count),
    title: titleOf(problem, option),
    constraint: fullLink(problem, count),
  }));
  const [best] = judged.filter((it) => it.constraint === null).sort(compare);
  const chosen = best ? { ...best, because: 'fewest bytes over links' } : null;
  const rejected = judged.filter((it) => it !== best).map((it) => ({ ...it, because: whyNot(it, best ?? it) }));
  return { chosen, rejected: rejected.sort(compare) };
}

function options({ servers, switch_mirrors, switch_merges }: MergeProblem): MergeOption[] {
  const places: Spot[] = servers.map((_, k) => k);
  const mirrors: Spot[] = switch_mirrors ? [...places, 'switch'] : places;
  const merges: Spot[] = switch_merges ? [...places, 'switch'] : places;
  return mirrors.flatMap((mirror) =>
    merges.flatMap((merge) => [false, true].map((split): MergeOption => ({ mirror, merge, split }))),
  );
}

function compare(a: MergeCost & MergeOption, b: MergeCost & MergeOption): number {
  return (
    a.link_bytes - b.link_bytes ||
    a.switch_traversals - b.switch_traversals ||
    a.busiest_link_bytes - b.busiest_link_bytes ||
    Number(a.split) - Number(b.split)
  );
}

/** Bytes of one packet from and to each server, and how often the switch gets it. */
class Count {
  readonly up: Float64Array;
  readonly down: Float64Array;
  traversals = 0;

  constructor(private readonly problem: MergeProblem) {
    this.up = new Float64Array(problem.servers.length);
    this.down = new Float64Array(problem.servers.length);
  }

  send(from: Spot, to: Spot): void {
    if (from === to) return;
    if (from !== 'switch') {
      this.up[from]! += this.problem.packet_bytes;
      this.traversals++;
    }
    if (to !== 'switch') this.down[to]! += this.problem.packet_bytes;
  }
}

function countOf(problem: MergeProblem, { mirror, merge, split }: MergeOption): Count {
  const { upstream, downstream, branches, sends_original } = problem;
  const count = new Count(problem);
  const once = (spots: readonly number[]) => (split ? [...new Set(spots)] : spots);
  const heads = branches.map((it) => it[0]!);
  count.send(upstream, mirror);
  for (const head of once(heads)) count.send(mirror, head);
  for (const branch of branches)
    branch.slice(1).forEach((to, i) => {
      count.send(branch[i]!, to);
    });
  for (const tail of once(branches.map((it) => it.at(-1)!))) count.send(tail, merge);
  const there = split && merge !== 'switch' && heads.includes(merge);
  if (sends_original && !there) count.send(mirror, merge);
  count.send(merge, downstream);
  return count;
}

function costOf({ up, down, traversals }: Count): MergeCost {
  const links = [...up, ...down];
  return {
    switch_traversals: traversals,
    link_bytes: links.reduce((sum, it) => sum + it, 0),
    busiest_link_bytes: Math.max(0, ...links),
  };
}

function fullLink({ servers, rate_pps }: MergeProblem, { up, down }: Count): Constraint | null {
  for (const [k, { id, link_bps }] of servers.entries()) {
    const needed = Math.max(up[k]!, down[k]!) * 8 * rate_pps;
    if (needed > link_bps * (1 + 1e-9))
      return { constraint: 'link-bandwidth', needed, available: link_bps, unit: 'bps', where: id };
  }
  return null;
}

function whyNot(it: MergeCost & { constraint: Constraint | null }, best: MergeCost): string {
  if (it.constraint) return `fills the link of ${it.constraint.where}`;
  const bytes = it.link_bytes - best.link_bytes;
  if (bytes > 0) return `${bytes} more bytes of each packet over links`;
  const traversals = it.switch_traversals - best.switch_traversals;
  if (traversals > 0) return `${traversals} more switch traversals`;
  return it.busiest_link_bytes > best.busiest_link_bytes ? 'loads one link more' : 'no better';
}

function titleOf({ servers }: MergeProblem, { mirror, merge, split }: MergeOption): string {
  const name = (spot: Spot) => (spot === 'switch' ? 'in the switch' : `on ${servers[spot]!.id}`);
  return `mirror ${name(mirror)}, merge ${name(merge)}${split ? ', one copy for each server' : ''}`;
}

function check({ servers, upstream, downstream, branches, packet_bytes, rate_pps }: MergeProblem): void {
  requireAtMost('/servers', servers.length, MAX_MERGE_SERVERS);
  if (servers.length === 0) throw new BadProblem('/servers', 'has no server');
  servers.forEach(({ link_bps }, k) => {
    requireAtLeast(`/servers/${k}/link_bps`, link_bps, 0);
  });
  requireAtLeast('/packet_bytes', packet_bytes, 0, true);
  requireAtLeast('/rate_pps', rate_pps, 0);
  const known = (field: string, spot: Spot) => {
    if (spot !== 'switch' && !(Number.isInteger(spot) && spot >= 0 && spot < servers.length))
      throw new BadProblem(field, `names no server: ${spot}`);
  };
  known('/upstream', upstream);
  known('/downstream', downstream);
  if (branches.length < 2) throw new BadProblem('/branches', 'must be at least two to be mirrored');
  branches.forEach((branch, b) => {
    if (branch.length === 0) throw new BadProblem(`/branches/${b}`, 'has no NF');
    branch.forEach((spot, i) => {
      known(`/branches/${b}/${i}`, spot);
    });
  });
}
