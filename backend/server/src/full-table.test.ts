import { ChainDefinition, Infrastructure } from '@orrery/contract';
import { afterEach, expect, it } from 'vitest';
import { monitorChain, RACK } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';

let server: TestServer;
afterEach(() => server.stop());

it('a chain is taken down where its switch is given a table smaller than what it holds', async () => {
  server = await TestServer.start({ twin: true });
  await server.bringUp();
  const leaf = server.switches.get(RACK.switches[0]!.id)!;
  const chain = monitorChain('watched');
  // Ranges of ports take many entries.
  const match = [...chain.traffic_class.match, { attribute: 'port.dst', value: '1-65534' }];
  const body = { ...chain, traffic_class: { ...chain.traffic_class, match } };
  const { id } = await server.api.call('createChain', { body: ChainDefinition.parse(body) });
  const deployed = await server.api.call('createDeployment', { body: { chain_id: id } });
  expect((await server.finished(deployed.id)).state).toBe('COMPLETED');
  const held = leaf.spec!.entries.length;

  const switches = RACK.switches.map((one) => ({ ...one, table_entries: held - 1 }));
  const small = Infrastructure.parse({ ...RACK, switches });
  await server.api.call('putInfrastructure', { body: small, headers: { 'if-match': '*' } });
  const over = await server.finished((await server.api.call('deleteDeployment', { params: { chain_id: id } })).id);
  expect(over, over.error?.detail).toMatchObject({ state: 'COMPLETED' });
  expect(leaf.spec!.entries.length).toBeLessThan(held);
});
