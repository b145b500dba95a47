import { ChainDefinition, type PoolInstance, type ServicePoolDefinition } from '@orrery/contract';
import { grouped } from '../grouped.js';
import type { NumberedWay } from './admit.js';
import type { HeldClass } from './class-index.js';

export const POOL_INGRESS = 'in';
const EGRESS = 'out';
/** Most edges of a chain, and most characters of a name (contract). */
const MAX_EDGES = 600;
const MAX_NAME = 40;

/** A request that holds a way of a pool. */
export interface HeldRequest extends HeldClass {
  readonly throughput_bps: number;
  readonly way: { readonly number: number; readonly instances: readonly string[] };
}

export function wayName(number: number): string {
  return `w${number}`;
}

/** The first edge of a way, by which the fabric's rules are called. */
export function wayEdge(number: number, stage: number): string {
  return `${wayName(number)}-${stage}`;
}

/** A name of a node that begins with the words, ends with `tail`, and is not taken. */
export function freeName(words: string, tail: string, taken: ReadonlySet<string>): string {
  for (let n = 1; ; n++) {
    const end = n === 1 ? tail : `-${n}${tail}`;
    const name = `${words.slice(0, MAX_NAME - end.length)}${end}`;
    if (!taken.has(name)) return name;
  }
}

/** The instances that a new pool begins with. */
export function firstInstances({ nfs }: Pick<ServicePoolDefinition, 'nfs'>): PoolInstance[] {
  const taken = new Set<string>();
  return nfs.flatMap(({ nf, count, rate_bps }) =>
    Array.from({ length: count }, (_, i): PoolInstance => {
      const id = freeName(nf, `-${i + 1}`, taken);
      taken.add(id);
      return { id, nf, rate_bps, on: 'software', slot: null, way: taken.size };
    }),
  );
}

/**
 * Ways of a chain that lead through instances that do not work: what their servers are to run stays as it is until they are
 * back, so that a change of the others does not wait for them.
 */
export function brokenWays(
  { edges }: Pick<ChainDefinition, 'edges'>,
  works: (instance: string) => boolean,
): NumberedWay[] {
  const stops = grouped(
    edges.filter(({ to }) => to !== EGRESS),
    ({ id }) => id.slice(1, id.indexOf('-')),
  );
  return [...stops]
    .map(([number, those]) => ({ number: Number(number), instances: those.map(({ to }) => to) }))
    .filter(({ instances }) => !instances.every(works));
}

/** Ways in use with their instances, those of one instance first. */
export function waysOf(
  instances: readonly PoolInstance[],
  held: Iterable<HeldRequest>,
  kept: readonly NumberedWay[] = [],
): NumberedWay[] {
  const ways = new Map<number, readonly string[]>(kept.map(({ number, instances: ids }) => [number, ids]));
  for (const { id, way } of instances) ways.set(way, [id]);
  for (const { way } of held) ways.set(way.number, way.instances);
  return [...ways].map(([number, ids]) => ({ number, instances: ids }));
}

/** Edges that the chain may still get. */
export function edgesLeft(ways: readonly NumberedWay[]): number {
  return ways.reduce((left, way) => left - way.instances.length - 1, MAX_EDGES);
}

/**
 * The chain that carries the requests of a pool (decision 0065). Each instance has a way of its own, planned for the rate
 * that no request has booked, so that a plan reserves the whole rate of every instance whatever requests there are.
 */
export function poolChain(
  pool: ServicePoolDefinition,
  instances: readonly PoolInstance[],
  held: readonly HeldRequest[],
  kept: readonly NumberedWay[] = [],
): ChainDefinition {
  const order = new Map(pool.nfs.map(({ nf }, i) => [nf, i]));
  const sorted = instances.toSorted((a, b) => order.get(a.nf)! - order.get(b.nf)!);
  const ways = waysOf(instances, held, kept).toSorted((a, b) => a.number - b.number);
  const booked = new Map<string, number>();
  const rates = new Map<number, number>();
  for (const { way, throughput_bps } of held) {
    rates.set(way.number, (rates.get(way.number) ?? 0) + throughput_bps);
    for (const id of way.instances) booked.set(id, (booked.get(id) ?? 0) + throughput_bps);
  }
  for (const { id, way, rate_bps } of instances)
    rates.set(way, (rates.get(way) ?? 0) + Math.max(0, rate_bps - (booked.get(id) ?? 0)));
  const classes = grouped(held, ({ way }) => wayName(way.number));
  const most = Math.max(0, ...ways.map(({ number }) => number));
  const definition = ChainDefinition.parse({
    name: pool.name,
    title: pool.title,
    description: 'Carries the requests of a service pool, which keeps it up to date.',
    traffic_class: {
      from: pool.hosts,
      rate_bps: ways.reduce((sum, { number }) => sum + (rates.get(number) ?? 0), 0),
      packet_bytes: pool.packet_bytes,
    },
    nodes: [
      {
        id: POOL_INGRESS,
        kind: 'ingress',
        ways: Array.from({ length: most }, (_, i) => ({ id: wayName(i + 1), classes: [] })),
      },
      ...sorted.map(({ id, nf }) => ({
        id,
        kind: 'nf',
        nf,
        config: pool.nfs.find((it) => it.nf === nf)!.config,
      })),
      { id: EGRESS, kind: 'egress' },
    ],
    edges: ways.flatMap(({ number, instances: ids }) => {
      const stops = [POOL_INGRESS, ...ids, EGRESS];
      return stops.slice(1).map((to, k) => ({
        id: wayEdge(number, k + 1),
        from: stops[k],
        to,
        filter: [{ attribute: `${POOL_INGRESS}.way`, op: 'is', value: wayName(number) }],
        rate_bps: rates.get(number) ?? 0,
      }));
    }),
  });
  // Classes are as they were accepted: thousands are not parsed again.
  const withClasses = (node: ChainDefinition['nodes'][number]) =>
    node.kind !== 'ingress' || !node.ways
      ? node
      : { ...node, ways: node.ways.map((way) => ({ ...way, classes: (classes.get(way.id) ?? []).map(classOf) })) };
  return { ...definition, nodes: definition.nodes.map(withClasses) };
}

function classOf({ id, from, match }: HeldRequest) {
  return { id, from: [...from], match };
}
