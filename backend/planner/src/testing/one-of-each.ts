import type { ChainDefinition, EngineAbility, NfDescriptor, PlannedChain } from '@orrery/contract';
import type { PlanInput } from '../plan/input.js';
import { board, withBoard } from './boards.js';
import { chainOf } from './chains.js';
import { withContainer } from './containers.js';
import { CATALOGUE, descriptor } from './descriptors.js';
import { rack } from './infrastructure.js';

const POLICIES = ['scheduler', 'round-robin', 'priority', 'weighted-fair', 'rate-limit', 'mirror', 'merge'] as const;
const offloadable = (nf: NfDescriptor): NfDescriptor => ({ ...nf, offload: { actions: ['forward'], entries: 2 } });
const MORE: Readonly<Record<string, (nf: NfDescriptor) => NfDescriptor>> = {
  ids: (nf) => withBoard(nf, 4000),
  firewall: offloadable,
  monitor: (nf) => withContainer(nf, {}),
};
const RACK = rack({ servers: 4, cores: 4, ghz: 2, nic_bps: 4e10, link_bps: 4e10 });
const SERVERS = RACK.servers.map(({ id }) => id);
export const INFRASTRUCTURE = { ...RACK, boards: [board('board-1', 'server-2')] };
export const NFS = [
  ...CATALOGUE.map((nf) => (MORE[nf.id] ?? ((same: NfDescriptor) => same))(nf)),
  ...['a', 'b', 'c'].map((id) => withContainer(descriptor(id, { cycles: 2000 }), {})),
  withContainer(descriptor('app'), { only: true }),
];

type Definition = Parameters<typeof chainOf>;
const chain = (
  id: number,
  nfs: Definition[0],
  edges: Definition[1],
  rest: Partial<ChainDefinition> = {},
  port: string | number = 2000 + id,
  rate_bps = 4e8,
) => {
  const drawn = chainOf(nfs, edges, { name: `c${id}`, match: [['port.dst', 'is', port]], rate_bps });
  return { chain_id: `p-${id}`, version: 1, definition: { ...drawn, ...rest } } satisfies PlannedChain;
};
export const LATENCY = { id: 'fast', kind: 'latency', percentile: 99, max_us: 900 } as const;
export const THROUGHPUT = { id: 'wide', kind: 'throughput', min_bps: 3e8 } as const;
const line = (...ids: string[]) =>
  ['in', ...ids].map((from, i): [string, string] => [from, ids[i] ?? 'out']) satisfies Definition[1];

/** One chain of each kind of which parts are taken over. */
export const CHAINS: readonly PlannedChain[] = [
  chain(0, { mon: 'monitor', fw: 'firewall' }, line('mon', 'fw'), { slos: [LATENCY, THROUGHPUT] }, '1000-1006'),
  chain(1, { nat: 'nat', mon: 'monitor' }, line('nat', 'mon'), {}, 3001, 1.8e10),
  chain(2, { ids: 'ids', mon: 'monitor', norm: 'app' }, [
    ['in', 'ids'],
    ['ids', 'mon', [['ids.verdict', 'is', 'safe']]],
    ['ids', 'norm', [['ids.verdict', 'is', 'unsafe']]],
    ['norm', 'mon'],
    ['mon', 'out'],
  ]),
  { ...chain(3, { a: 'a', b: 'b', c: 'c' }, line('a', 'b', 'c')), execution: 'parallel' },
  {
    ...chain(
      4,
      { a: 'a', b: 'b', c: 'c' },
      [
        ['in', 'a'],
        ['a', 'b', [['port.src', 'is', 80]]],
        ['a', 'c', [['port.src', 'is-not', 80]]],
        ['b', 'out'],
        ['c', 'out'],
      ],
      { class_slos: [{ id: 'web-first', kind: 'priority', above: 'e1', below: 'e2' }] },
    ),
    schedule: 'planned',
  },
  chain(5, { app: 'app' }, line('app')),
];

export const ON_BOARD = { chain_id: 'p-2', node_id: 'ids', on: 'board', load: 'partial', policy: 'hold' } as const;

/** The input of a plan of all of them. */
export const ONE_OF_EACH: PlanInput = {
  id: 'plan',
  created_ms: 0,
  chains: CHAINS,
  descriptors: NFS,
  infrastructure: INFRASTRUCTURE,
  base: null,
  container_servers: ['server-3', 'server-4'],
  abilities: Object.fromEntries(SERVERS.map((id): [string, readonly EngineAbility[]] => [id, POLICIES])),
  implementations: [ON_BOARD],
  budget: { steps: 20 },
};
