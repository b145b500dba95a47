import { type Event, type Infrastructure, MOST_REACTIONS, type Plan, type SloCause } from '@orrery/contract';
import type { Violation } from '../budget/seconds-history.js';

/** A cause is looked for within this time before a violation. */
export const BEFORE_MS = 120_000;
/** That something failed is told up to this time after what it broke: whoever watches it waits before it counts as dead. */
export const TOLD_LATE_MS = 10_000;
/** After this time a change is half as plausible and less: a measured window shows it within ten seconds. */
const FADES_MS = 60_000;

/** What a chain runs on. */
export interface ChainSite {
  readonly chainId: string;
  /** Nodes, boards, links and instances, by id. */
  readonly parts: ReadonlySet<string>;
  /** Both ends of each of the links: node and port. */
  readonly ports: ReadonlySet<string>;
}

/** An NF of the chain whose queue has no room. */
export interface Overload {
  readonly nf: string;
  readonly lost_pps: number;
}

/** How plausible a change is as a cause, at the time of the violation. What was done on purpose comes before what it made fail. */
const WEIGHTS: Readonly<Record<SloCause['kind'], number>> = {
  fault: 1,
  failure: 0.9,
  operation: 0.8,
  reconfiguration: 0.8,
  scaling: 0.8,
  overload: 0.4,
};

const FAILURES: ReadonlySet<Event['type']> = new Set<Event['type']>([
  'node.disconnected',
  'engine.unresponsive',
  'engine.ended',
  'engine.killed',
  'agent.exited',
  'agent.killed',
  'instance.ended',
  'instance.unresponsive',
  'board.lost',
  'board.exited',
  'board.failed',
  'board.killed',
  'slot.faulty',
  'slot.failed',
  'slot.stuck',
  'switch.exited',
  'switch.hung',
  'switch.restarted',
  'switch.failed',
  'link.down',
  'link.failed',
  'twin.lost',
  'delay-line.exited',
  'delay-line.hung',
]);
/** Of the whole twin: whatever runs in it suffers. */
const OF_ALL: ReadonlySet<Event['type']> = new Set<Event['type']>([
  'twin.lost',
  'delay-line.exited',
  'delay-line.hung',
]);
/** What an agent drives goes on without it, and packets pass. */
const SILENCES: ReadonlySet<Event['type']> = new Set<Event['type']>([
  'node.disconnected',
  'agent.exited',
  'agent.killed',
]);
/** Told by the twin as it does it, never late. */
const TOLD_AT_ONCE: ReadonlySet<Event['type']> = new Set<Event['type']>([
  'agent.killed',
  'engine.killed',
  'board.killed',
  'slot.stuck',
]);

/** Loops that change chains because something is wrong: where it is known what, they did not begin it. */
const CORRECTING: ReadonlySet<string> = new Set(['healing', 'scaling', 'policy watcher']);

interface Change extends SloCause {
  readonly corrects: boolean;
}

/**
 * The most plausible change before a violation was first seen, or failure that was told soon after. Null: nothing that the chain runs
 * on changed or failed, and no queue of it is full. What healing, scaling or a policy did about an earlier fault or failure is no cause.
 * `losesAll`: nothing of what is offered gets through, so that what a silent agent drives may be lost with it. `lost`: servers and
 * switches that are taken for lost now.
 */
export function causeOf(
  events: readonly Event[],
  site: ChainSite,
  { began_ms, seen_ms }: Violation,
  overload: Overload | null,
  losesAll = false,
  lost: ReadonlySet<string> = new Set(),
): SloCause | null {
  const plausible = events.filter(
    (event) =>
      (event.t_ms <= seen_ms || !TOLD_AT_ONCE.has(event.type)) &&
      (!SILENCES.has(event.type) || losesAll || isStillLost(event, events, lost) || isLostSince(event, events)),
  );
  const before = changesOf(plausible, site, began_ms - BEFORE_MS, seen_ms + TOLD_LATE_MS).filter(
    ({ kind, at_ms }) => at_ms <= seen_ms || kind === 'failure',
  );
  const wrongSince = Math.min(...before.flatMap(({ kind, at_ms }) => (isWrong(kind) ? [at_ms] : [])));
  const candidates: SloCause[] = before
    .filter(({ corrects, at_ms }) => !corrects || at_ms < wrongSince)
    .map(({ corrects: _corrects, ...cause }) => cause);
  if (overload) candidates.push({ ...overloadCause(overload), event_id: null, at_ms: seen_ms });
  const score = ({ kind, at_ms }: SloCause) => WEIGHTS[kind] * Math.exp(-Math.abs(at_ms - seen_ms) / FADES_MS);
  return candidates.reduce<SloCause | null>((best, each) => (best && score(best) >= score(each) ? best : each), null);
}

/** Whether what a silent agent drives is taken for lost, and the agent has not come back between. */
function isStillLost({ subject, t_ms }: Event, events: readonly Event[], lost: ReadonlySet<string>): boolean {
  const isBack = (event: Event) => event.type === 'node.connected' && event.subject === subject && event.t_ms > t_ms;
  return lost.has(subject) && !events.some(isBack);
}

/** Whether the server of a silent agent was soon taken for lost. */
function isLostSince({ subject, t_ms }: Event, events: readonly Event[]): boolean {
  return events.some(
    (event) =>
      event.type === 'healing.lost' &&
      event.subject === subject &&
      event.t_ms >= t_ms &&
      event.t_ms <= t_ms + BEFORE_MS,
  );
}

const isWrong = (kind: SloCause['kind']) => kind === 'fault' || kind === 'failure';

/** Changes of the chain since a violation was seen, and what loops did before about something that was wrong; the oldest first. */
export function reactionsOf(
  events: readonly Event[],
  site: ChainSite,
  { began_ms, seen_ms }: Violation,
  untilMs: number,
): SloCause[] {
  return changesOf(events, site, began_ms - BEFORE_MS, untilMs)
    .filter(({ kind, corrects, at_ms }) => !isWrong(kind) && (at_ms > seen_ms || (corrects && at_ms >= began_ms)))
    .slice(0, MOST_REACTIONS)
    .map(({ corrects: _corrects, ...change }) => change);
}

/** What changed or failed of what the chain runs on, the oldest first. */
function changesOf(events: readonly Event[], site: ChainSite, fromMs: number, untilMs: number): Change[] {
  return events
    .flatMap((event): Change[] => {
      if (event.t_ms < fromMs || event.t_ms > untilMs) return [];
      const named = candidateOf(event, site);
      if (!named) return [];
      const what = whatOf(event, named, site);
      return [{ ...named, what, event_id: event.id, at_ms: event.t_ms, corrects: CORRECTING.has(event.actor) }];
    })
    .sort((a, b) => a.at_ms - b.at_ms);
}

/** Also of what, where the message does not say: that of an engine names only its process. */
function whatOf({ message, type }: Event, { kind, id }: Pick<SloCause, 'kind' | 'id'>, { parts }: ChainSite): string {
  const isUnnamed = kind === 'failure' && parts.has(id) && !message.includes(id);
  return `${isUnnamed ? `${id}: ` : ''}${message || type}`.slice(0, 400);
}

function overloadCause({ nf, lost_pps }: Overload) {
  const rate = lost_pps < 10 ? lost_pps.toPrecision(2) : lost_pps.toFixed(0);
  return { kind: 'overload', id: nf, what: `The queue of ${nf} is full: ${rate} packets/s have no room` } as const;
}

/** Null: the event is no change of what the chain runs on. */
function candidateOf(event: Event, { chainId, parts, ports }: ChainSite): Pick<SloCause, 'kind' | 'id'> | null {
  switch (event.type) {
    case 'operation.started':
      return event.data.chains.includes(chainId) || concerns(event.data.chain_id, chainId, parts)
        ? { kind: 'operation', id: event.subject }
        : null;
    case 'operation.rolling-back':
      return concerns(event.data.chain_id, chainId, parts) ? { kind: 'operation', id: event.subject } : null;
    case 'reconfiguration.started':
      return event.data.moves.some(({ chain_id }) => chain_id === chainId)
        ? { kind: 'reconfiguration', id: event.data.id }
        : null;
    case 'scaling.out':
    case 'scaling.in':
      return event.data.chain_id === chainId ? { kind: 'scaling', id: event.data.id } : null;
    case 'fault.injected':
      return parts.has(event.data.target) ? { kind: 'fault', id: event.data.fault_id } : null;
    case 'port.down':
    case 'switch.port-down':
      return ports.has(`${event.subject} ${event.data.port}`) ? { kind: 'failure', id: event.subject } : null;
    default:
      return failureOf(event, parts);
  }
}

const concerns = (id: string, chainId: string, parts: ReadonlySet<string>) => id === chainId || parts.has(id);

function failureOf(event: Event, parts: ReadonlySet<string>): Pick<SloCause, 'kind' | 'id'> | null {
  if (!FAILURES.has(event.type)) return null;
  const { data } = event;
  const node = 'node' in data ? data.node : undefined;
  const board = 'board' in data ? data.board : undefined;
  // An instance that ends on a server of the chain may be another chain's.
  const named = event.type.startsWith('instance.') ? [event.subject] : [event.subject, board, node];
  const isPart = (each: unknown): each is string => typeof each === 'string' && parts.has(each);
  const id = OF_ALL.has(event.type) ? event.subject : named.find(isPart);
  return id === undefined ? null : { kind: 'failure', id };
}

/** The servers, boards and instances of a chain, the hosts that send into it, every switch, and the links between them. */
export function siteOf(
  chainId: string,
  own: readonly Plan['graph']['nodes'][number][],
  senders: readonly string[],
  { links, switches }: Pick<Infrastructure, 'links' | 'switches'>,
): ChainSite {
  const boards = own.flatMap((node) => (node.kind === 'nf' && node.board ? [node.board.board] : []));
  const nodes = new Set([
    ...own.flatMap((node) => ('server' in node ? [node.server] : [])),
    ...boards,
    ...switches.map(({ id }) => id),
    ...senders,
  ]);
  const between = links.filter(({ a, b }) => nodes.has(a.node) && nodes.has(b.node));
  const ends = between.flatMap(({ a, b }) => [a, b]);
  return {
    chainId,
    parts: new Set([...nodes, ...between.map(({ id }) => id), ...own.map(({ id }) => id)]),
    ports: new Set(ends.map(({ node, port }) => `${node} ${port}`)),
  };
}
