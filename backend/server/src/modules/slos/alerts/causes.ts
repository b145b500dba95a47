import type { Event, Infrastructure, Plan, SloCause } from '@orrery/contract';

/** A cause is looked for within this time before a violation. */
export const BEFORE_MS = 120_000;
/** The first bad bucket may begin so long before the violation. */
const RESOLUTION_MS = 10_000;
/** After this time a change is half as plausible and less: a measured window shows it within ten seconds. */
const FADES_MS = 60_000;

/** What a chain runs on. */
export interface ChainSite {
  readonly chainId: string;
  /** Nodes, boards, links and instances, by id. */
  readonly parts: ReadonlySet<string>;
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
  overload: 0.4,
};

const FAILURES: ReadonlySet<Event['type']> = new Set<Event['type']>([
  'node.disconnected',
  'engine.unresponsive',
  'engine.ended',
  'engine.killed',
  'agent.exited',
  'agent.killed',
  'port.down',
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
  'switch.port-down',
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

/**
 * The most plausible change before a violation that began at `beganMs`, to ten seconds. Null: nothing that the chain runs on
 * changed or failed, and no queue of it is full.
 */
export function causeOf(
  events: readonly Event[],
  site: ChainSite,
  beganMs: number,
  overload: Overload | null,
): SloCause | null {
  const latestMs = beganMs + RESOLUTION_MS;
  const candidates = events.flatMap((event) => {
    if (event.t_ms < beganMs - BEFORE_MS || event.t_ms > latestMs) return [];
    const named = candidateOf(event, site);
    if (!named) return [];
    return [{ ...named, what: event.message.slice(0, 400) || event.type, event_id: event.id, at_ms: event.t_ms }];
  });
  if (overload) candidates.push({ ...overloadCause(overload), event_id: null as never, at_ms: latestMs });
  const score = ({ kind, at_ms }: SloCause) => WEIGHTS[kind] * Math.exp((at_ms - latestMs) / FADES_MS);
  return candidates.reduce<SloCause | null>((best, each) => (best && score(best) >= score(each) ? best : each), null);
}

function overloadCause({ nf, lost_pps }: Overload) {
  const rate = lost_pps < 10 ? lost_pps.toPrecision(2) : lost_pps.toFixed(0);
  return { kind: 'overload', id: nf, what: `The queue of ${nf} is full: ${rate} packets/s have no room` } as const;
}

/** Null: the event is no change of what the chain runs on. */
function candidateOf(event: Event, { chainId, parts }: ChainSite): Pick<SloCause, 'kind' | 'id'> | null {
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
    case 'fault.injected':
      return parts.has(event.data.target) ? { kind: 'fault', id: event.data.fault_id } : null;
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
  plan: Pick<Plan, 'graph' | 'chains'>,
  chainId: string,
  { links, switches }: Pick<Infrastructure, 'links' | 'switches'>,
): ChainSite {
  const own = plan.graph.nodes.filter(({ chain_id }) => chain_id === chainId);
  const chain = plan.chains.find(({ chain_id }) => chain_id === chainId);
  const boards = own.flatMap((node) => (node.kind === 'nf' && node.board ? [node.board.board] : []));
  const nodes = new Set([
    ...own.flatMap((node) => ('server' in node ? [node.server] : [])),
    ...boards,
    ...switches.map(({ id }) => id),
    ...(chain?.definition.traffic_class.from ?? []),
  ]);
  const between = links.filter(({ a, b }) => nodes.has(a.node) && nodes.has(b.node)).map(({ id }) => id);
  return { chainId, parts: new Set([...nodes, ...between, ...own.map(({ id }) => id)]) };
}
