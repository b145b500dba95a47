import { fileURLToPath } from 'node:url';
import type { NfDescriptor, Plan } from '@orrery/contract';
import { beforeAll, expect, it } from 'vitest';
import type { Config } from '../../platform/config.js';
import type { Collections } from '../../platform/durable-collection/collections.js';
import type { Log } from '../../platform/log.js';
import type { Probes } from '../../platform/probes.js';
import type { DeploymentView } from '../../ports/deployment-view.js';
import type { ElementManagers } from '../../ports/element-managers.js';
import type { EventLog } from '../../ports/event-log.js';
import type { InfrastructureStore } from '../../ports/infrastructure-store.js';
import type { Telemetry } from '../../ports/telemetry.js';
import { loadCatalogue } from './catalogue.js';
import { Learner } from './learner.js';
import { LEARNT_PROFILES } from './learnt.js';
import { NfDescriptorsService } from './nf-descriptors.service.js';
import { STORED_DESCRIPTORS } from './stored.js';

const NFS = fileURLToPath(new URL('../../../../../agents/nfs', import.meta.url));
const SAMPLES = 40;
const LAST_MS = 1000 * SAMPLES;
/** Of a core, and the same figures of each second. */
const RATES = { cpu: 0.5, pps: 100_000, bps: 800_000_000 } as const;

let descriptors: readonly NfDescriptor[];
beforeAll(async () => {
  ({ descriptors } = await loadCatalogue([NFS]));
});

/** How many samples of its one instance are taken. */
async function taken(nf: string, softwareMs: number | null): Promise<number> {
  const instance = { kind: 'nf', id: 'c.x.0', chain_id: 'c', node_id: 'x', nf, driver: 'engine', server: 'server-1' };
  const definition = { nodes: [{ id: 'x', kind: 'nf', nf, config: {} }] };
  const plan = { graph: { nodes: [instance], edges: [] }, chains: [{ chain_id: 'c', version: 1, definition }] };
  const series = ([key]: readonly string[]) => {
    const metric = (['cpu', 'pps', 'bps'] as const).find((each) => key!.includes(each))!;
    return [{ points: Array.from({ length: SAMPLES }, (_, i) => [1000 * (i + 1), RATES[metric]]) }];
  };
  const servers = [{ id: 'server-1', ghz: 2, origin: 'live' }];
  const learner = new Learner(
    { declaredBy: (id: string) => descriptors.find((it) => it.id === id)! } as NfDescriptorsService,
    { plan: plan as unknown as Plan } as DeploymentView,
    { current: { infrastructure: { servers } } } as unknown as InfrastructureStore,
    { series } as unknown as Telemetry,
    { softwareSince: () => softwareMs } as unknown as ElementManagers,
  );
  const { measured } = await learner.learn(nf, { driver: 'engine', dry_run: true }, 'ann');
  return measured?.samples ?? 0;
}

it('of an NF that can be switched, only samples since it settled in software are taken', async () => {
  expect(await taken('crypto-tunnel', LAST_MS - 10_000)).toBe(8);
  expect(await taken('crypto-tunnel', null)).toBe(0);
  expect(await taken('monitor', null)).toBe(SAMPLES);
});

it('a legacy NF that is removed takes along what was learnt of it', async () => {
  const descriptor = { ...descriptors.find(({ id }) => id === 'monitor')!, id: 'mine' };
  const removed: string[] = [];
  const batch = {
    remove: ({ key }: { readonly key: string }, id: string) => void removed.push(`${key} ${id}`),
    also: () => undefined,
  };
  const collections = {
    open: ({ key }: { readonly key: string }) => ({ key, get: () => ({ descriptor }), onChange: () => undefined }),
    commit: async (work: (given: typeof batch) => unknown) => work(batch),
  } as unknown as Collections;
  const service = new NfDescriptorsService({} as Config, {} as Log, {} as Probes, collections, {} as EventLog);
  await service.remove('mine', null, 'ann');
  const keys = [STORED_DESCRIPTORS, LEARNT_PROFILES].map(({ key }) => `${key} mine`);
  expect(removed.toSorted()).toEqual(keys.toSorted());
});
