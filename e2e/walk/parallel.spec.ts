import { ensureRunning } from '../support/applications.js';
import { type Api, expect, test } from '../support/orrery.js';

/** Three NFs that may process copies of a packet at the same time. */
const CHAIN = {
  name: 'side-by-side',
  title: 'Side by side',
  description: '',
  traffic_class: {
    from: ['client-4'],
    match: [
      { attribute: 'ip.dst', op: 'is', value: '10.0.2.2' },
      { attribute: 'ip.proto', op: 'is', value: 'udp' },
    ],
    rate_bps: 10_000_000,
    packet_bytes: 800,
  },
  nodes: [
    { id: 'in', kind: 'ingress' },
    { id: 'ids', kind: 'nf', nf: 'ids', config: {} },
    { id: 'mon', kind: 'nf', nf: 'monitor', config: {} },
    { id: 'fw', kind: 'nf', nf: 'firewall', config: {} },
    { id: 'out', kind: 'egress' },
  ],
  edges: [
    { id: 'e0', from: 'in', to: 'ids', filter: [] },
    { id: 'e1', from: 'ids', to: 'mon', filter: [] },
    { id: 'e2', from: 'mon', to: 'fw', filter: [] },
    { id: 'e3', from: 'fw', to: 'out', filter: [] },
  ],
  slos: [],
};

const PROBE = 'side-by-side-probe';

async function probe(api: Api): Promise<Record<string, number>> {
  const { status } = await api.ok('GET', `/applications/${PROBE}`);
  return Object.fromEntries(status.metrics.map(({ name, value }: { name: string; value: number }) => [name, value]));
}

test('a chain under traffic changes between sequence, parallel and a planned schedule without losing a packet', async ({
  api,
}) => {
  const chain = await api.ok('POST', '/chains', CHAIN);
  const deploy = async (options: Record<string, string>) => {
    const operation = await api.ok('POST', '/deployments', { chain_id: chain.id, ...options });
    const ended = await api.until(`the end of ${operation.id}`, async () => {
      const now = await api.ok('GET', `/operations/${operation.id}`);
      return now.state === 'PROCESSING' ? null : now;
    });
    expect([options, ended.state]).toEqual([options, 'COMPLETED']);
    return api.ok('GET', `/plans/${ended.plan_id}`);
  };
  const kinds = (plan: { graph: { nodes: { kind: string }[] } }) => new Set(plan.graph.nodes.map(({ kind }) => kind));

  await deploy({ execution: 'sequential', schedule: 'round-robin' });
  await ensureRunning(api, 'side-by-side-server', { kind: 'probe-server', node: 'web-2', config: { port: 9300 } });
  await ensureRunning(api, PROBE, {
    kind: 'probe',
    node: 'client-4',
    config: { to: 'web-2', port: 9300, rate_per_s: 100 },
  });
  const passes = async (what: string, packets: number) => {
    const { received = 0 } = await probe(api);
    await api.until(`${packets} replies ${what}`, async () =>
      ((await probe(api)).received ?? 0) > received + packets ? true : null,
    );
  };
  await passes('in sequence', 50);
  const { lost: before = 0 } = await probe(api);

  expect(kinds(await deploy({ execution: 'parallel' }))).toEqual(new Set(['nf', 'mirror', 'merge', 'exit']));
  await passes('in parallel', 200);
  const merged = 'module/side-by-side.ids.merge/out_pps';
  await api.until('packets out of the merge', async () => {
    const { items } = await api.ok('GET', `/samples?keys=${merged}`);
    return items[0]?.points.some(([, pps]: [number, number]) => pps > 0) ? true : null;
  });

  expect(kinds(await deploy({ execution: 'sequential', schedule: 'planned' }))).toEqual(
    new Set(['nf', 'queue', 'exit']),
  );
  await passes('by the planned schedule', 200);
  await deploy({ execution: 'sequential', schedule: 'round-robin' });
  await passes('in turn', 200);
  expect(((await probe(api)).lost ?? 0) - before).toBe(0);

  await api.ok('DELETE', `/applications/${PROBE}`);
  await api.ok('DELETE', '/applications/side-by-side-server');
  const removal = await api.ok('DELETE', `/deployments/${chain.id}`);
  await api.until(`the end of ${removal.id}`, async () =>
    (await api.ok('GET', `/operations/${removal.id}`)).state === 'PROCESSING' ? null : true,
  );
  await api.ok('DELETE', `/chains/${chain.id}`);
});
