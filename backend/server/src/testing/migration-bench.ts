import type { EventDraft, MigrateRequest, Operation } from '@orrery/contract';
import { FlowMigrations } from '../modules/deployments/flow-migrations.js';
import { loadCatalogue } from '../modules/nf-descriptors/catalogue.js';
import { configFrom } from '../platform/config.js';
import type { Batch, Collections } from '../platform/durable-collection/collections.js';
import type { DeploymentView } from '../ports/deployment-view.js';
import type { EventLog } from '../ports/event-log.js';
import type { NodeFleet } from '../ports/node-fleet.js';
import type { OperationLog } from '../ports/operation-log.js';

const { descriptors } = await loadCatalogue(configFrom({}).catalogue);

const INSTANCES = [
  { id: 'p.nat.0', nf: 'nat', server: 's1', driver: 'engine' },
  { id: 'p.nat.1', nf: 'nat', server: 's2', driver: 'engine' },
  { id: 'p.nat.2', nf: 'nat', server: 's2', driver: 'container' },
  { id: 'p.nat.board-0', nf: 'nat', server: 's2', driver: 'board' },
  { id: 'p.proxy.0', nf: 'http-proxy', server: 's1', driver: 'container' },
  { id: 'p.proxy.1', nf: 'http-proxy', server: 's2', driver: 'container' },
  { id: 'p.fw.0', nf: 'firewall', server: 's1', driver: 'engine' },
  { id: 'p.fw.1', nf: 'firewall', server: 's2', driver: 'engine' },
  { id: 'p.mon.0', nf: 'monitor', server: 's1', driver: 'engine' },
  { id: 'p.mon.1', nf: 'monitor', server: 's2', driver: 'engine' },
].map((instance) => ({ kind: 'nf', chain_id: 'p', pgraph_node: instance.id.slice(0, -2), ...instance }));

/** The engine of a firewall splits the flows of the monitors. */
const KEY = ['ip.src', 'ip.dst'];
const MONITORS = ['p.mon.0', 'p.mon.1'];
const EDGES = MONITORS.map((to, i) => ({
  ...{ from: 'p.fw.0', to, pgraph_edge: 'p.e1', direction: 'forward', key: KEY },
  hop: i === 0 ? null : 7,
}));
const SPLIT = {
  ...{ node_id: 'mon', at: 'engine', key: KEY, targets: MONITORS.map((instance_id) => ({ instance_id })) },
  keep_flows: { capacity: 100, idle_timeout_s: 30 },
};

export type Answer = (method: string, instance: string) => unknown;

/** Moves of flows between instances of a plan; `answer`: the agents. */
export function migrationBench(answer: Answer, stored = new Map<string, Operation>()) {
  const events: EventDraft[] = [];
  const operations: OperationLog = {
    find: (id) => stored.get(id),
    get: async (id) => stored.get(id) ?? null,
    list: async () => [...stored.values()],
    putIn: (_batch, operation) => void stored.set(operation.id, operation),
  };
  const collections = {
    commit: async (work: (batch: Batch) => unknown) =>
      work({ also: (writeIn: (transaction: never) => void) => writeIn(undefined as never) } as unknown as Batch),
  } as unknown as Collections;
  const log = { appendIn: (_transaction, event) => void events.push(event) } as EventLog;
  const fleet = {
    call: async (_node, method, instance, _params, signal) => {
      signal?.throwIfAborted();
      return answer(method, instance);
    },
  } as NodeFleet;
  const catalogue = { all: () => descriptors, find: (id: string) => descriptors.find((it) => it.id === id) };
  const view = { plan: { graph: { nodes: INSTANCES, edges: EDGES }, splits: [SPLIT] } } as unknown as DeploymentView;
  const migrations = new FlowMigrations(view, fleet, catalogue, operations, collections, log);
  return { migrations, events, stored };
}

export const portion = { state: { flows: 'T0ZSrows' }, rows: 7, portion: '0.1.0.7.5', last: true };
export const agents: Answer = (method) =>
  ({
    export_flows: portion,
    import_state: { tables: 't', left_out: 0 },
    release_flows: { released: 7, kept: 0 },
    hold_flows: {},
    end_hold: { flows: 7, packets: 1, table_full: false },
  })[method];
export const all = (to: string, over: Partial<MigrateRequest> = {}): MigrateRequest => ({
  to,
  flows: { match: [] },
  steer: false,
  release: false,
  ...over,
});
