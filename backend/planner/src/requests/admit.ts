import {
  type Constraint,
  type Filter,
  MAX_WAY_CLASSES,
  MAX_WAYS,
  type RejectedInstance,
  type RequestStage,
} from '@orrery/contract';
import { type ChainAnswer, type ChainOptions, chain, route } from '../chaining/chain.js';
import {
  exceeds,
  idOf,
  isAble,
  lacking,
  latencyOf,
  overbookedBy,
  type PreparedNetwork,
  prepareNetwork,
  takeCapacity,
} from '../chaining/network.js';
import type { ChainRequest, Shortage } from '../chaining/problem.js';
import { shortestPath } from '../chaining/stages.js';
import { ClassIndex, type HeldClass } from './class-index.js';
import type { EntryRoom } from './entry-room.js';
import { type LiveOption, type LiveState, liveNetwork } from './live-network.js';

/** An SLA that asks for a way through a pool. */
export interface AskedRequest {
  readonly id: string;
  readonly from: readonly string[];
  readonly match: Filter;
  readonly functions: readonly string[];
  readonly latency_us: number;
  readonly throughput_bps: number;
}

/** A way that has a number: through these instances, in this order. */
export interface NumberedWay {
  readonly number: number;
  readonly instances: readonly string[];
}

export interface Admission {
  readonly state: LiveState;
  /** Ways that are in use, or that lead through one instance. */
  readonly ways: readonly NumberedWay[];
  /** Classes of accepted requests, which is only read. */
  readonly known?: ClassIndex;
  /** Classes of other chains. */
  readonly held: Iterable<HeldClass>;
  /** Gets the classes that are booked; the pools of one call share it. */
  readonly booked?: ClassIndex;
  /** Classes of this pool. */
  readonly classes: number;
  /** Edges of the pool's chain that may still be added. */
  readonly edges_left: number;
  /** Of the switches; absent: without end. */
  readonly room?: EntryRoom;
  /** What reasons call a class by its id; absent: by the id. */
  readonly nameOf?: (id: string) => string;
}

export interface Accepted {
  readonly accepted: true;
  readonly way: NumberedWay;
  readonly stages: readonly RequestStage[];
  readonly latency_us: number;
  /** Ids of options that have to be deployed. */
  readonly deployments: readonly string[];
  readonly rejected: readonly RejectedInstance[];
}

export interface Refused {
  readonly accepted: false;
  readonly why: string;
  readonly shortages: readonly Constraint[];
  /** Least latency of any way through instances that have room, each by itself; `null`: there is none. */
  readonly nearest_us: number | null;
  readonly rejected: readonly RejectedInstance[];
}

/** What is to be accepted. */
interface Choice extends Pick<Accepted, 'way' | 'deployments' | 'rejected'> {
  /** Candidates by stage. */
  readonly path: ArrayLike<number>;
}

export type Decision = Accepted | Refused;

/** Partial paths that are looked at where instances share free slots: with reasons, and in bulk. */
const STEPS = { explained: 20_000, brief: 2000 };
/** For the reasons of a refusal: others wait while they are looked for. */
const CONFLICT_STEPS = 50_000;
const optionsOf = (steps: number): ChainOptions => ({ strategy: 'hyper', seed: 1, budget: { steps } });
const EXPLAINED: ChainOptions = { ...optionsOf(STEPS.explained), conflict_steps: CONFLICT_STEPS };
const BRIEF = optionsOf(STEPS.brief);
const MAX_REJECTED = 128;

/** An option that ways need, with the number of the way that leads through it alone. */
export interface Deployed {
  readonly option: LiveOption;
  readonly way: number;
}

/**
 * Decides on requests in turn (HYPER IV): each books what it takes before the next is looked at, and options that one has
 * deployed run for the next. `explains`: with what spoke against the others and, where none qualifies, the smallest set of
 * constraints that rules every way out, which may take some hundred times as long.
 * Precondition: the functions of each are of the pool, in its order and none twice; its filter has no fault.
 */
export class Admissions {
  private readonly network: PreparedNetwork;
  private readonly state: LiveState;
  private readonly room: EntryRoom | null;
  private readonly known: ClassIndex | null;
  private readonly nameOf: (id: string) => string;
  private readonly others = new ClassIndex();
  private readonly booked: ClassIndex;
  /** What instances carry beyond what is booked, which requests that are booked next are taken for. */
  private readonly unbooked_bps: Float64Array;
  private readonly added: Deployed[] = [];
  private readonly byPath = new Map<string, NumberedWay>();
  private readonly numbers: Set<number>;
  private classes: number;
  private edgesLeft: number;

  constructor({ state, ways, known, held, booked, classes, edges_left, room, nameOf }: Admission) {
    this.room = room ?? null;
    this.nameOf = nameOf ?? ((id) => id);
    this.state = state;
    this.network = prepareNetwork(liveNetwork(state));
    this.known = known ?? null;
    this.booked = booked ?? new ClassIndex();
    this.unbooked_bps = new Float64Array(this.network.candidates);
    for (const [c, it] of state.instances.entries())
      this.unbooked_bps[c] = Math.max(0, it.measured_bps - it.booked_bps);
    for (const each of held) this.others.add(each);
    for (const way of ways) this.byPath.set(way.instances.join(), way);
    this.numbers = new Set(ways.map(({ number }) => number));
    this.classes = classes;
    this.edgesLeft = edges_left;
  }

  decide(asked: AskedRequest, explains: boolean): Decision {
    const taken = this.booked.conflictOf(asked) ?? this.known?.conflictOf(asked) ?? this.others.conflictOf(asked);
    if (taken) {
      const why = `Packets of ${taken.host} that match belong to ${this.nameOf(taken.id)} already.`;
      return refusal(why, [{ constraint: 'classifier', needed: 1, available: 0, unit: 'classes', where: taken.id }]);
    }
    if (this.classes >= MAX_WAY_CLASSES)
      return refusal(`The pool carries ${MAX_WAY_CLASSES} requests, which is the most.`, [
        {
          constraint: 'classifier',
          needed: this.classes + 1,
          available: MAX_WAY_CLASSES,
          unit: 'classes',
          where: 'the pool',
        },
      ]);
    const request = this.requestOf(asked);
    const answer = explains ? chain(this.network, request, EXPLAINED) : null;
    const path = answer ? answer.path : this.route(request);
    if (!path || path.length === 0) return answer ? this.refusalOf(request, answer) : this.briefRefusal(request);
    const ids = Array.from(path, (c) => idOf(this.network, c));
    const deployments = Array.from(path).flatMap((c) => (this.network.running[c] ? [] : [idOf(this.network, c)]));
    const way = this.wayOf(ids, deployments);
    if (!('constraint' in way))
      return this.accept(asked, request, { way, path, deployments, rejected: answer ? this.rejectedOf(answer) : [] });
    const known = this.fastestKnown(request);
    return known
      ? this.accept(asked, request, { ...known, deployments: [], rejected: [] })
      : refusal(wayWords(way), [way]);
  }

  private accept(asked: AskedRequest, request: ChainRequest, { way, path, deployments, rejected }: Choice): Decision {
    const full = this.room?.take({ ...asked, way: way.number }, !this.byPath.has(way.instances.join())) ?? null;
    if (full) return refusal(roomWords(full), [full]);
    const accepted: Accepted = {
      accepted: true,
      way,
      stages: this.stagesOf(request, path),
      latency_us: latencyOf(this.network, path, request),
      deployments,
      rejected,
    };
    this.book(asked, path, accepted);
    return accepted;
  }

  /** Options that ways which were decided on need, and that are to be deployed. */
  get deployed(): readonly Deployed[] {
    return this.added;
  }

  /** The slot is taken: nothing is deployed there any more. */
  block(slot: string): void {
    const place = this.network.source.nodes.findIndex(({ id }) => id === slot);
    if (place >= 0) this.network.nodeFree[place] = 0;
  }

  private book(asked: AskedRequest, path: ArrayLike<number>, { way, deployments }: Accepted): void {
    this.take(path, asked.throughput_bps);
    this.booked.add(asked);
    this.classes++;
    this.number(way);
    for (const id of deployments) {
      const own = this.byPath.get(id) ?? { number: this.lowestFree(), instances: [id] };
      this.number(own);
      this.added.push({ option: this.state.options.find((it) => it.id === id)!, way: own.number });
    }
  }

  /** What is booked counts where it is more than what is carried, so the first of it takes nothing of what is left. */
  private take(path: ArrayLike<number>, rate_bps: number): void {
    takeCapacity(this.network, path, rate_bps);
    for (let k = 0; k < path.length; k++) {
      const c = path[k]!;
      const carried = Math.min(rate_bps, this.unbooked_bps[c]!);
      this.unbooked_bps[c]! -= carried;
      this.network.free_bps[c]! += carried;
    }
  }

  private number(way: NumberedWay): void {
    const key = way.instances.join();
    if (this.byPath.has(key)) return;
    this.byPath.set(key, way);
    this.numbers.add(way.number);
    this.edgesLeft -= way.instances.length + 1;
  }

  private lowestFree(): number {
    let number = 1;
    while (this.numbers.has(number)) number++;
    return number;
  }

  private route(request: ChainRequest): ArrayLike<number> | null {
    const least = shortestPath(this.network, request, true);
    if (exceeds(least, request.latency_us)) return null;
    const fastest = this.network.scratch.path.slice(0, request.functions.length);
    const fits = overbookedBy(this.network, fastest, request.throughput_bps) === null;
    return route(this.network, request, BRIEF) ?? (fits ? fastest : null);
  }

  private requestOf({ functions, latency_us, throughput_bps }: AskedRequest): ChainRequest {
    const outside = this.network.nodes - 1;
    return {
      functions: functions.map((nf) => this.state.functions.indexOf(nf)),
      ingress: outside,
      egress: outside,
      throughput_bps,
      latency_us,
    };
  }

  /** The way through these instances, with the lowest free number if it is new. Each that is deployed gets one of its own. */
  private wayOf(instances: readonly string[], deployments: readonly string[]): NumberedWay | Constraint {
    const known = this.byPath.get(instances.join());
    if (known) return known;
    const where = 'the pool';
    const own = instances.length === 1 ? 0 : deployments.length;
    if (this.numbers.size + own >= MAX_WAYS) {
      const needed = this.numbers.size + own + 1;
      return { constraint: 'metadata', needed, available: MAX_WAYS, unit: 'ways', where };
    }
    const needed = instances.length + 1 + 2 * own;
    if (needed > this.edgesLeft)
      return { constraint: 'classifier', needed, available: this.edgesLeft, unit: 'edges', where };
    return { number: this.lowestFree(), instances };
  }

  /** Of the ways that have numbers and qualify; null: none does. */
  private fastestKnown(request: ChainRequest): Pick<Choice, 'way' | 'path'> | null {
    const { functions, throughput_bps, latency_us } = request;
    let best: (Pick<Choice, 'way' | 'path'> & { readonly latency: number }) | null = null;
    for (const way of this.byPath.values()) {
      if (way.instances.length !== functions.length) continue;
      const path = way.instances.flatMap(
        (id, k) => this.network.byFunction[functions[k]!]!.find((c) => idOf(this.network, c) === id) ?? [],
      );
      if (path.length < functions.length || path.some((c) => !this.network.running[c])) continue;
      const latency = latencyOf(this.network, path, request);
      if (latency >= (best?.latency ?? Number.POSITIVE_INFINITY) || exceeds(latency, latency_us)) continue;
      if (overbookedBy(this.network, path, throughput_bps) === null) best = { way, path, latency };
    }
    return best;
  }

  private stagesOf(request: ChainRequest, path: ArrayLike<number>): RequestStage[] {
    const { node, nodes, transit_us, latency_us } = this.network;
    const { instances, options, functions } = this.state;
    let at = request.ingress;
    return Array.from(path, (c, k) => {
      const live = instances[c];
      const transit = transit_us[at * nodes + node[c]!]!;
      at = node[c]!;
      return {
        instance: idOf(this.network, c),
        nf: functions[request.functions[k]!]!,
        place: (live ?? options[c - instances.length]!).place,
        transit_us: transit,
        processing_us: latency_us[c]!,
        measured: live?.measured ?? false,
      };
    });
  }

  private rejectedOf({ stages }: ChainAnswer): RejectedInstance[] {
    return stages
      .flatMap(({ function: f, rejected }) =>
        rejected.map(({ candidate, constraint }) => ({
          instance: idOf(this.network, candidate),
          nf: this.state.functions[f]!,
          constraint: told(constraint),
        })),
      )
      .slice(0, MAX_REJECTED);
  }

  /**
   * What keeps each instance from serving the request, with the smallest set of constraints that rules every way out (of more than
   * four: one of which none can be left out), or, where the search for it was cut off, what holds in any case.
   */
  private refusalOf(request: ChainRequest, { conflict, lower_bound_us }: ChainAnswer): Refused {
    const brief = conflict && !conflict.minimal ? this.briefRefusal(request) : null;
    const shortages = brief?.shortages ?? onePerPlace((conflict?.shortages ?? []).map(told));
    const why =
      shortages.length === 0
        ? 'No way was found among those that the search looked at.'
        : shortages.map((it) => shortageWords(it, lower_bound_us)).join(' ');
    const rejected = request.functions.flatMap((f) =>
      [...this.network.byFunction[f]!].flatMap((c): RejectedInstance[] => {
        const short = lacking(this.network, c, request.throughput_bps);
        const instance = idOf(this.network, c);
        return short ? [{ instance, nf: this.state.functions[f]!, constraint: told(short) }] : [];
      }),
    );
    return { accepted: false, why, shortages, nearest_us: lower_bound_us, rejected: rejected.slice(0, MAX_REJECTED) };
  }

  /** What each function lacks at the instance that has most left; otherwise what the fastest way lacks. */
  private briefRefusal(request: ChainRequest): Refused {
    const { functions, throughput_bps: rate, latency_us: bound } = request;
    const least = shortestPath(this.network, request, true);
    const nearest_us = Number.isFinite(least) ? least : null;
    const short = functions.flatMap((f) => this.lackOf(f, rate) ?? []);
    if (short.length === 0) {
      const fastest = nearest_us === null ? null : this.network.scratch.path.slice(0, functions.length);
      const where = this.state.functions[functions.at(-1)!]!;
      if (!fastest) short.push({ constraint: 'connection', needed: 1, available: 0, unit: 'paths', where });
      else if (exceeds(least, bound))
        short.push({ constraint: 'latency', needed: least, available: bound, unit: 'us', where });
      else short.push(overbookedBy(this.network, fastest, rate)!);
    }
    const shortages = short.map(told);
    return {
      accepted: false,
      why: shortages.map((it) => shortageWords(it, nearest_us)).join(' '),
      shortages,
      nearest_us,
      rejected: [],
    };
  }

  private lackOf(f: number, rate_bps: number): Shortage | null {
    const { network } = this;
    const candidates = network.byFunction[f]!;
    if (candidates.some((c) => isAble(network, c, rate_bps))) return null;
    const [first] = candidates;
    if (first === undefined)
      return { constraint: 'function', needed: 1, available: 0, unit: 'instances', where: this.state.functions[f]! };
    const most = candidates.reduce((best, c) => (network.free_bps[c]! > network.free_bps[best]! ? c : best), first);
    return lacking(network, most, rate_bps);
  }
}

function refusal(why: string, shortages: readonly Constraint[]): Refused {
  return { accepted: false, why, shortages, nearest_us: null, rejected: [] };
}

/** Stages that are short of the same thing, once: the most that is needed. */
function onePerPlace(shortages: readonly Constraint[]): Constraint[] {
  const most = new Map<string, Constraint>();
  for (const it of shortages) {
    const key = `${it.constraint} ${it.where}`;
    if (it.needed > (most.get(key)?.needed ?? Number.NEGATIVE_INFINITY)) most.set(key, it);
  }
  return [...most.values()];
}

function told({ constraint, needed, available, unit, where }: Shortage): Constraint {
  const finite = (value: number) => (Number.isFinite(value) ? value : Number.MAX_SAFE_INTEGER);
  return { constraint, needed: finite(needed), available: finite(available), unit, where };
}

function roomWords({ constraint, where, available, needed }: Constraint): string {
  return constraint === 'switch-table'
    ? `${where} has ${available} table entries left of ${needed} that are needed.`
    : `${where} cannot tell the packets of the request from others.`;
}

function wayWords({ unit, available }: Constraint): string {
  return unit === 'ways'
    ? `The pool has ${available} ways, which is the most.`
    : `The pool's chain has room for ${available} more edges, and the way needs more.`;
}

function shortageWords({ constraint, needed, available, where }: Constraint, nearestUs: number | null): string {
  switch (constraint) {
    case 'latency': {
      const [fastest, bound] = figures(needed, available);
      if (nearestUs === null) return `No way is as fast as ${bound} µs.`;
      return exceeds(needed, nearestUs)
        ? `A way that has room takes ${fastest} µs or more, and the bound is ${bound} µs.`
        : `The fastest way takes ${fastest} µs, and the bound is ${bound} µs.`;
    }
    case 'throughput': {
      const [most, least] = figures(needed / 1e6, available / 1e6);
      return `${where} has ${least} Mbit/s left of ${most} Mbit/s that are needed.`;
    }
    case 'function':
      return `No instance of ${where} works, and none can be deployed.`;
    case 'connection':
      return `No way leads to ${where}.`;
    default:
      return `${where} lacks ${constraint}.`;
  }
}

/** With so many digits, three at least, that they are told apart. */
function figures(a: number, b: number): readonly [string, string] {
  const to = (digits: number) => [a, b].map((value) => String(Number(value.toPrecision(digits)))) as [string, string];
  for (let digits = 3; digits < 12; digits++) {
    const [first, second] = to(digits);
    if (first !== second) return [first, second];
  }
  return to(3);
}
