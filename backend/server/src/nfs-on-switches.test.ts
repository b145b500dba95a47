import type { NfInstance } from '@orrery/contract';
import { ASSUMED_ABILITIES } from '@orrery/planner';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FakeSwitch } from './testing/fake-switch.js';
import { NAT_CHAIN, RACK } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

const [LEAF] = RACK.switches;
const FIREWALL = `c.firewall.${LEAF!.id}`;
const EXACT = { kind: 'exact', negation: false } as const;
const RUNS_NFS = { ...ASSUMED_ABILITIES, match: { ...ASSUMED_ABILITIES.match, nfs: EXACT, 'ip.later': EXACT } };

let server: TestServer;
let leaf: FakeSwitch;
beforeEach(async () => {
  server = await TestServer.start({ twin: true });
  await server.bringUp();
  leaf = server.switches.get(LEAF!.id)!;
  leaf.drivers = { ovs: RUNS_NFS, p4: RUNS_NFS };
  await leaf.rebuild('ovs');
});
afterEach(() => server.stop());

async function deploy(): Promise<string> {
  const rules = [{ action: 'deny', proto: 'tcp', dst_port: 23 }];
  const nodes = NAT_CHAIN.nodes.map((node) =>
    node.id === 'firewall' ? { ...node, config: { default_action: 'allow', rules } } : node,
  );
  const { id } = await server.api.call('createChain', { body: { ...NAT_CHAIN, nodes, name: 'c' } });
  return (await server.api.call('createDeployment', { body: { chain_id: id, offload: 'where-possible' } })).id;
}

async function firewall(): Promise<NfInstance | undefined> {
  const { items } = await server.api.call('listNfInstances', { query: {} });
  return items.find(({ id }) => id === FIREWALL);
}
const firewallIs = (state: NfInstance['state'], detail: unknown) =>
  until(`the firewall is ${state}`, async () => (await firewall())?.state === state).then(async () =>
    expect(await firewall()).toMatchObject({ driver: 'switch', server: LEAF!.id, state, detail }),
  );

describe('an NF on a switch', () => {
  it('runs once its switch holds its entries, and not before', async () => {
    for (const agent of server.agents.values()) agent.hold = true;
    leaf.hold = true;
    const operation = await deploy();
    // The servers prepare; the switch holds what it was told before.
    await until('the chain is planned', async () => (await firewall()) !== undefined);
    expect(await firewall()).toMatchObject({ state: 'pending', detail: `${LEAF!.id} has not been told of it yet` });
    expect(leaf.rules).toEqual([]);
    for (const agent of server.agents.values()) {
      agent.hold = false;
      agent.reach();
    }
    await firewallIs('starting', expect.stringContaining('is at generation'));
    leaf.hold = false;
    leaf.reach();
    await firewallIs('running', null);
    expect((await server.finished(operation)).state).toBe('COMPLETED');

    leaf.trouble = 'table nf-1 is full';
    leaf.reach();
    await firewallIs('failed', `${LEAF!.id}: table nf-1 is full`);
    await leaf.kill();
    await firewallIs('unknown', 'its agent is not connected');
  });

  it('does not run while its switch is to be built anew by another driver', async () => {
    expect((await server.finished(await deploy())).state).toBe('COMPLETED');
    await firewallIs('running', null);
    const plan = await server.api.call('createPlan', {
      body: { switch_drivers: [{ switch: LEAF!.id, driver: 'p4' }] },
    });
    const change = await server.api.call('createDeployment', { body: { plan_id: plan.id } });
    await firewallIs('starting', `${LEAF!.id}: still runs the driver ovs, not p4`);
    await leaf.rebuild('p4');
    expect((await server.finished(change.id)).state).toBe('COMPLETED');
    await firewallIs('running', null);
  });

  it('has no log', async () => {
    await server.finished(await deploy());
    const params = { id: FIREWALL };
    expect(await server.api.request('getNfInstanceLog', { params })).toMatchObject({
      status: 404,
      body: { detail: `${FIREWALL} is entries of the switch ${LEAF!.id}, which write no log.` },
    });
  });
});
