import {
  type Constraint,
  type Filter,
  MAX_WAY_CLASSES,
  MAX_WAYS,
  type RejectedInstance,
  type RequestStage,
} from '@orrery/contract';
import { type ChainAnswer, type ChainOptions, chain, route } from '../chaining/chain.js';
import { idOf, lacking, latencyOf, type PreparedNetwork, prepareNetwork, takeCapacity } from '../chaining/network.js';
import type { ChainRequest, Shortage } from '../chaining/problem.js';
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
  /** Classes of accepted requests, and of other chains. */
  readonly held: Iterable<HeldClass>;
  /** How many of them are of this pool. */
  readonly classes: number;
  /** Edges of the pool's chain that may still be added. */
  readonly edges_left: number;
  /** Of the switches; absent: without end. */
  readonly room?: EntryRoom;
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
  /** Least latency of any way through instances that alone have room; `null`: there is none. */
  readonly nearest_us: number | null;
  readonly rejected: readonly RejectedInstance[];
}

export type Decision = Accepted | Refused;

const STEPS = 20_000;
const OPTIONS: ChainOptions = { strategy: 'hyper', seed: 1, budget: { steps: STEPS } };
const MAX_REJECTED = 128;

/**
 * Decides on requests in turn (HYPER IV): each books what it takes before the next is looked at, and options that one has
 * deployed run for the next. `explains`: with what spoke against the others, which takes some ten times as long.
 * Precondition: the functions of each are of the pool, in its order and none twice; its filter has no fault.
 */
export class Admissions {
  private readonly network: PreparedNetwork;
  private readonly index = new ClassIndex();
  private readonly byPath = new Map<string, NumberedWay>();
  private readonly numbers: Set<number>;
  private classes: number;
  private edgesLeft: number;

  constructor({ state, ways, held, classes, edges_left, room }: Admission) {
    this.room = room ?? null;
    this.state = state;
    this.network = prepareNetwork(liveNetwork(state));
    for (const each of held) this.index.add(each);
    for (const way of ways) this.byPath.set(way.instances.join(), way);
    this.numbers = new Set(ways.map(({ number }) => number));
    this.classes = classes;
    this.edgesLeft = edges_left;
  }

  private readonly state: LiveState;
  private readonly room: EntryRoom | null;

  decide(asked: AskedRequest, explains: boolean): Decision {
    const taken = this.index.conflictOf(asked);
    if (taken)
      return refusal(`Packets of ${taken.host} that match belong to ${taken.id} already.`, [
        { constraint: 'classifier', needed: 1, available: 0, unit: 'classes', where: taken.id },
      ]);
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
    const answer = explains ? chain(this.network, request, OPTIONS) : null;
    const path = answer ? answer.path : route(this.network, request, OPTIONS);
    if (!path || path.length === 0) return this.refusalOf(request, answer ?? chain(this.network, request, OPTIONS));
    const ids = Array.from(path, (c) => idOf(this.network, c));
    const way = this.wayOf(ids);
    if ('constraint' in way) return refusal(wayWords(way), [way]);
    const full = this.room?.take({ ...asked, way: way.number }, !this.byPath.has(way.instances.join())) ?? null;
    if (full) return refusal(roomWords(full), [full]);
    const accepted: Accepted = {
      accepted: true,
      way,
      stages: this.stagesOf(request, path),
      latency_us: latencyOf(this.network, path, request),
      deployments: Array.from(path).flatMap((c) => (this.network.running[c] ? [] : [idOf(this.network, c)])),
      rejected: answer ? this.rejectedOf(answer) : [],
    };
    this.book(asked, path, way);
    return accepted;
  }

  /** Options that ways which were decided on need, and that are to be deployed. */
  get deployed(): readonly LiveOption[] {
    const { instances, options } = this.state;
    return options.filter((_, i) => this.network.running[instances.length + i]);
  }

  private book(asked: AskedRequest, path: ArrayLike<number>, way: NumberedWay): void {
    takeCapacity(this.network, path, asked.throughput_bps);
    this.index.add(asked);
    this.classes++;
    const key = way.instances.join();
    if (this.byPath.has(key)) return;
    this.byPath.set(key, way);
    this.numbers.add(way.number);
    this.edgesLeft -= way.instances.length + 1;
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

  /** The way through these instances, with the lowest free number if it is new. */
  private wayOf(instances: readonly string[]): NumberedWay | Constraint {
    const known = this.byPath.get(instances.join());
    if (known) return known;
    const where = 'the pool';
    if (this.numbers.size >= MAX_WAYS)
      return { constraint: 'metadata', needed: MAX_WAYS + 1, available: MAX_WAYS, unit: 'ways', where };
    const needed = instances.length + 1;
    if (needed > this.edgesLeft)
      return { constraint: 'classifier', needed, available: this.edgesLeft, unit: 'edges', where };
    let number = 1;
    while (this.numbers.has(number)) number++;
    return { number, instances };
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

  /** What keeps each instance from serving the request, with the smallest set of constraints that rules every way out. */
  private refusalOf(request: ChainRequest, { conflict, lower_bound_us }: ChainAnswer): Refused {
    const shortages = (conflict?.shortages ?? []).map(told);
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
}

function refusal(why: string, shortages: readonly Constraint[]): Refused {
  return { accepted: false, why, shortages, nearest_us: null, rejected: [] };
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
  const figure = (value: number) => Number(value.toPrecision(3)).toString();
  switch (constraint) {
    case 'latency':
      return nearestUs === null
        ? `No way is as fast as ${figure(available)} µs.`
        : `The fastest way takes ${figure(Math.max(needed, nearestUs))} µs, and the bound is ${figure(available)} µs.`;
    case 'throughput':
      return `${where} has ${figure(available / 1e6)} Mbit/s left of ${figure(needed / 1e6)} Mbit/s that are needed.`;
    case 'function':
      return `No instance of ${where} works, and none can be deployed.`;
    case 'connection':
      return `No way leads to ${where}.`;
    default:
      return `${where} lacks ${constraint}.`;
  }
}
