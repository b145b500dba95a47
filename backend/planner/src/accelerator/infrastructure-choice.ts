import type { Implementation } from '@orrery/contract';
import { BadProblem, requireAtLeast, requireIndex } from '../bad-problem.js';
import type { Dimension, Shortage } from './problem.js';
import { exceeds, smallest } from './reasons.js';

/** An implementation of an NF, with what it takes of a board's resources by dimension (nothing elsewhere). */
interface OfferedImplementation {
  readonly kind: Implementation['kind'];
  readonly cost: Implementation['cost'];
  readonly need: readonly number[];
}

/** Where an implementation could run: a server for software and containers, or a board. */
export interface Site {
  readonly id: string;
  readonly kinds: readonly Implementation['kind'][];
  /** Functions that the site can carry, by index. */
  readonly functions: readonly number[];
  /** Clock of a core, or of the board's chain. */
  readonly hz: number;
  /** Free cores (or board chains) that an instance may use. */
  readonly cores_free: number;
  readonly memory_free_bytes: number;
  readonly throughput_free_bps: number;
  /** By dimension. */
  readonly capacity_free: readonly number[];
}

export interface InfrastructureQuestion {
  readonly functions: readonly string[];
  readonly dimensions: readonly Dimension[];
  readonly function: number;
  readonly implementations: readonly OfferedImplementation[];
  readonly sites: readonly Site[];
  readonly throughput_bps: number;
  /** Mean length of a packet. */
  readonly packet_bytes: number;
  readonly latency_us: number;
}

interface InfrastructureCandidate {
  readonly implementation: number;
  readonly site: number;
  readonly chosen: boolean;
  readonly feasible: boolean;
  readonly latency_us: number;
  /** Maximum throughput of the instance there. */
  readonly throughput_bps: number;
  readonly constraint: Shortage | null;
}

export interface InfrastructureChoice {
  readonly chosen: InfrastructureCandidate | null;
  readonly candidates: readonly InfrastructureCandidate[];
  readonly because: string;
  /** One shortage per candidate, for the smallest set of constraint kinds that rules out all candidates. */
  readonly conflicts: readonly Shortage[];
}

/** Software while it meets every requirement, else a container, else a board (HYPER III-B4 and IX, Figure 2). */
const PREFERENCE: readonly Implementation['kind'][] = ['software', 'container', 'board'];

/**
 * Decides on what an NF runs: the most preferred kind that meets every requirement, and on it the site that the instance
 * leaves least of its throughput free. Errors: `BadProblem`.
 */
export function chooseInfrastructure(question: InfrastructureQuestion): InfrastructureChoice {
  checkQuestion(question);
  const judged = question.implementations.flatMap((implementation, i) =>
    question.sites.flatMap((site, s) =>
      site.kinds.includes(implementation.kind) ? [judge(question, implementation, i, site, s)] : [],
    ),
  );
  const kindOf = ({ implementation }: Judged) => question.implementations[implementation]!.kind;
  let chosen: Judged | null = null;
  for (const it of judged) {
    if (it.shortages.length > 0) continue;
    const order = chosen ? PREFERENCE.indexOf(kindOf(it)) - PREFERENCE.indexOf(kindOf(chosen)) : -1;
    if (order < 0 || (order === 0 && it.throughput_bps < chosen!.throughput_bps)) chosen = it;
  }
  const candidates = judged.map((it) => candidateOf(it, it === chosen));
  return {
    chosen: chosen && candidates[judged.indexOf(chosen)]!,
    candidates,
    because: because(question, chosen, judged, kindOf),
    conflicts: chosen ? [] : conflictsOf(question, judged),
  };
}

interface Judged {
  readonly implementation: number;
  readonly site: number;
  readonly latency_us: number;
  readonly throughput_bps: number;
  readonly shortages: readonly Shortage[];
}

function candidateOf(it: Judged, chosen: boolean): InfrastructureCandidate {
  const { implementation, site, latency_us, throughput_bps, shortages } = it;
  const feasible = shortages.length === 0;
  return { implementation, site, latency_us, throughput_bps, chosen, feasible, constraint: shortages[0] ?? null };
}

function judge(
  question: InfrastructureQuestion,
  { kind, cost, need }: OfferedImplementation,
  implementation: number,
  site: Site,
  index: number,
): Judged {
  const { packet_bytes, dimensions, functions } = question;
  const cycles = cost.cycles_per_packet + cost.cycles_per_byte * packet_bytes;
  const latency_us = cost.base_latency_us + (cycles / site.hz) * 1e6;
  const processed = ((site.cores_free * site.hz) / cycles) * packet_bytes * 8;
  const throughput_bps = Math.min(processed, site.throughput_free_bps);
  const shortages: Shortage[] = [];
  const check = (constraint: string, needed: number, available: number, unit: string) => {
    if (exceeds(needed, available)) shortages.push({ constraint, needed, available, unit, where: site.id });
  };
  if (!site.functions.includes(question.function)) check('function', 1, 0, functions[question.function]!);
  check('latency', latency_us, question.latency_us, 'us');
  check('throughput', question.throughput_bps, throughput_bps, 'bps');
  check('memory', cost.memory_bytes, site.memory_free_bytes, 'bytes');
  if (kind === 'board')
    dimensions.forEach(({ name, unit }, k) => {
      check(name, need[k]!, site.capacity_free[k]!, unit);
    });
  return { implementation, site: index, latency_us, throughput_bps, shortages };
}

function because(
  { sites }: InfrastructureQuestion,
  chosen: Judged | null,
  judged: readonly Judged[],
  kindOf: (it: Judged) => Implementation['kind'],
): string {
  if (judged.length === 0) return 'No site takes any implementation of the NF.';
  if (!chosen) return 'No implementation meets every requirement on any site.';
  const kind = kindOf(chosen);
  const cheaper = judged.filter((it) => PREFERENCE.indexOf(kindOf(it)) < PREFERENCE.indexOf(kind));
  if (kind === 'software') return 'Software meets every requirement and is the cheapest and most flexible.';
  const where = sites[chosen.site]!.id;
  if (kind === 'container' && cheaper.length === 0) return 'Only a container is offered; it meets every requirement.';
  if (cheaper.length === 0) return `Only a ${kind} is offered; ${where} meets every requirement.`;
  const lacks = [...new Set(cheaper.map(({ shortages }) => shortages[0]!.constraint))].join(' and ');
  const what = kind === 'container' ? 'a container' : `the ${kind} on ${where}`;
  return `Software falls short in ${lacks}; ${what} meets every requirement.`;
}

function conflictsOf({ functions, function: f }: InfrastructureQuestion, judged: readonly Judged[]): Shortage[] {
  if (judged.length === 0)
    return [{ constraint: 'function', needed: 1, available: 0, unit: 'sites', where: functions[f]! }];
  const lists = judged.map(({ shortages }) => shortages);
  const kinds = [...new Set(lists.flat().map(({ constraint }) => constraint))];
  const cover = smallest(kinds, (set) => lists.every((list) => list.some((it) => set.includes(it.constraint))))!;
  return lists.map((list) => list.find((it) => cover.includes(it.constraint))!);
}

function checkQuestion(question: InfrastructureQuestion): void {
  const { functions, dimensions, implementations, sites } = question;
  requireIndex('/function', question.function, functions.length);
  requireAtLeast('/throughput_bps', question.throughput_bps, 0, true);
  requireAtLeast('/packet_bytes', question.packet_bytes, 0, true);
  requireAtLeast('/latency_us', question.latency_us, 0);
  implementations.forEach(({ cost, need }, i) => {
    const at = `/implementations/${i}`;
    requireAtLeast(`${at}/cost/cycles_per_packet`, cost.cycles_per_packet, 0, true);
    requireAtLeast(`${at}/cost/cycles_per_byte`, cost.cycles_per_byte, 0);
    requireAtLeast(`${at}/cost/base_latency_us`, cost.base_latency_us, 0);
    requireAtLeast(`${at}/cost/memory_bytes`, cost.memory_bytes, 0);
    checkVector(`${at}/need`, need, dimensions.length);
  });
  sites.forEach((site, s) => {
    const at = `/sites/${s}`;
    requireAtLeast(`${at}/hz`, site.hz, 0, true);
    requireAtLeast(`${at}/cores_free`, site.cores_free, 0);
    requireAtLeast(`${at}/memory_free_bytes`, site.memory_free_bytes, 0);
    requireAtLeast(`${at}/throughput_free_bps`, site.throughput_free_bps, 0);
    checkVector(`${at}/capacity_free`, site.capacity_free, dimensions.length);
    site.functions.forEach((f, k) => {
      requireIndex(`${at}/functions/${k}`, f, functions.length);
    });
  });
}

function checkVector(field: string, values: readonly number[], length: number): void {
  if (values.length !== length) throw new BadProblem(field, `must have ${length} entries, not ${values.length}`);
  values.forEach((value, k) => {
    requireAtLeast(`${field}/${k}`, value, 0);
  });
}
