import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ChainDefinition, NfDescriptor, type Problem } from '@orrery/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { monitorChain, RACK } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start();
  await server.api.call('putInfrastructure', { body: RACK });
});
afterAll(() => server.stop());

const SHIPPED = new URL('../../../agents/node/process-nfs/nftables-firewall/descriptor.json', import.meta.url);
const described = (id: string, change: Partial<NfDescriptor> = {}): NfDescriptor =>
  NfDescriptor.parse({ ...JSON.parse(readFileSync(fileURLToPath(SHIPPED), 'utf8')), id, title: id, ...change });
const json = JSON.stringify;

it('legacy NFs that users describe are in the catalogue, versioned, and survive the server', async () => {
  const created = await server.api.request('createNfDescriptor', { body: json(described('mine')) });
  expect([created.status, created.headers.get('location')]).toEqual([201, '/api/v1/nf-descriptors/mine']);
  expect(created.body).toMatchObject({ id: 'mine', written: { revision: 1 } });
  const same = await server.api.request('createNfDescriptor', { body: json(described('mine')) });
  expect([same.status, (same.body as Problem).errors]).toMatchObject([409, [{ pointer: '/id' }]]);

  const etag = created.headers.get('etag')!;
  const put = (change: Partial<NfDescriptor>, match = etag) =>
    server.api.request('putNfDescriptor', {
      params: { id: 'mine' },
      body: json(described('mine', change)),
      headers: { 'if-match': match },
    });
  expect((await put({ summary: 'other' })).body).toMatchObject({ status: 422, errors: [{ pointer: '/version' }] });
  const changed = await put({ version: '1.0.1' });
  expect([changed.status, changed.body]).toMatchObject([200, { version: '1.0.1', written: { revision: 2 } }]);
  expect((await put({ version: '1.0.2' })).status).toBe(412);
  const bad = await put({ version: '1.1.0', return_traffic: true }, '*');
  expect(bad.body).toMatchObject({ status: 422, errors: [{ pointer: '/return_traffic' }] });

  await server.pause();
  server = await TestServer.start({}, server.scratch);
  expect(await server.api.call('getNfDescriptor', { params: { id: 'mine' } })).toMatchObject({ version: '1.0.1' });
  const { items } = await server.api.call('listEvents', { query: { limit: 1000 } });
  const told = items.filter(({ subject }) => subject === 'mine');
  expect(told.map(({ type }) => type).sort()).toEqual(['nf-descriptor.changed', 'nf-descriptor.created']);
});

it('they are not removed while a chain has them, and those of Orrery neither changed nor removed', async () => {
  await server.api.call('createNfDescriptor', { body: described('used') });
  const monitor = monitorChain('legacy-use');
  const uses = ChainDefinition.parse({
    ...monitor,
    nodes: monitor.nodes.map((node) => (node.kind === 'nf' ? { ...node, nf: 'used' } : node)),
  });
  const { id } = await server.api.call('createChain', { body: uses });
  const remove = (nf: string) => server.api.request('deleteNfDescriptor', { params: { id: nf } });
  const refused = await remove('used');
  expect(refused.body).toMatchObject({ status: 409, detail: expect.stringContaining('Chain legacy-use') });
  await server.api.call('deleteChain', { params: { id } });
  expect((await remove('used')).status).toBe(204);
  expect((await server.api.request('getNfDescriptor', { params: { id: 'used' } })).status).toBe(404);
  expect((await remove('firewall')).status).toBe(409);
  const shipped = await server.api.request('putNfDescriptor', {
    params: { id: 'nftables-firewall' },
    body: json(described('nftables-firewall', { version: '2.0.0' })),
  });
  expect(shipped.status).toBe(409);
});

it('a plan that was made with another description is not deployed', async () => {
  await server.api.call('createNfDescriptor', { body: described('planned') });
  const monitor = monitorChain('legacy-plan');
  const uses = ChainDefinition.parse({
    ...monitor,
    nodes: monitor.nodes.map((node) => (node.kind === 'nf' ? { ...node, nf: 'planned' } : node)),
    slos: [],
  });
  const { id } = await server.api.call('createChain', { body: uses });
  const { id: plan_id, feasible } = await server.api.call('createPlan', { body: { chains: [{ chain_id: id }] } });
  expect(feasible).toBe(true);
  const changed = described('planned', { version: '1.0.1' });
  await server.api.call('putNfDescriptor', { params: { id: 'planned' }, body: changed });
  const refused = await server.api.request('createDeployment', { body: json({ plan_id }) });
  expect(refused.body).toMatchObject({ status: 409, detail: expect.stringContaining('"planned"') });
});

it('a schema whose patterns take too long to match is refused', async () => {
  const config_schema = { type: 'object', properties: { name: { type: 'string', pattern: '^(a+)+$' } } };
  const slow = described('slow', { config_schema, default_config: { name: `${'a'.repeat(30)}!` } });
  const { body } = await server.api.request('createNfDescriptor', { body: json(slow) });
  expect((body as Problem).errors).toContainEqual(expect.objectContaining({ pointer: '/config_schema' }));
});

it.each([
  ['title', '   '],
  ['summary', '\n\t '],
  ['icon', ' '],
  ['version', `1.0.${'9'.repeat(5000)}`],
])('a text that says nothing or is too long is refused at its field: %s', async (field, value) => {
  const body = json({ ...described('absurd'), [field]: value });
  const refused = await server.api.request('createNfDescriptor', { body });
  expect(refused.body).toMatchObject({ status: 422, errors: [{ pointer: `/${field}` }] });
});

it('only an administrator describes them, because their programs run as root', async () => {
  const designer = await server.session('designer');
  const refused = await designer.request('createNfDescriptor', { body: json(described('theirs')) });
  expect(refused.status).toBe(403);
});
