import { existsSync } from 'node:fs';
import { ChainDefinition, NfDescriptor } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { monitorChain } from './testing/fixtures.js';
import { CLIENT, liveInfrastructure, WEB } from './testing/live-infrastructure.js';
import { LiveSite, siteMissing } from './testing/live-site.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

const missing = siteMissing() ?? (existsSync('/usr/sbin/nft') ? null : 'needs nftables');

type Figures = { hits: number; misses: number; errors: number };

const lacksProxy = !['/usr/sbin/squid', '/usr/bin/squidclient'].every((path) => existsSync(path));

const SITE = liveInfrastructure(['edge-1'], [CLIENT, WEB]);

/** Traffic of the client through one NF. */
function through(nf: string, config: Record<string, unknown> = {}): ChainDefinition {
  const plain = monitorChain('a');
  const nodes = plain.nodes.map((node) => (node.kind === 'nf' ? { ...node, nf, config } : node));
  return ChainDefinition.parse({ ...plain, nodes });
}

let server: TestServer;
beforeEach(async () => {
  server = await TestServer.start({ env: { ORRERY_STEP_TIMEOUT_MS: '8000', ORRERY_AGENT_STALE_MS: '4000' } });
  await server.api.call('putInfrastructure', { body: SITE });
});
afterEach(() => server.stop());

describe.skipIf(missing)(`legacy NFs on a live server${missing ? ` (${missing})` : ''}`, { timeout: 120_000 }, () => {
  let site: LiveSite;
  const isAnswered = () => site.isAnswered(CLIENT.id, WEB.address);
  beforeEach(async () => {
    site = new LiveSite(SITE, server);
    await site.setUp();
    site.echo(WEB.id);
    await site.enrol();
    await until('hosts reach each other', isAnswered, 30_000);
  });
  afterEach(async () => {
    await site.stopServerAgent('edge-1');
    await site.tearDown();
  });

  it('filter the packets of a chain by nftables, and take new rules; a program of users is not run unasked', async () => {
    const { id } = await server.api.call('createChain', { body: through('nftables-firewall') });
    const deploy = async () => {
      const accepted = await server.api.call('createDeployment', { body: { chain_id: id } });
      const done = await server.finished(accepted.id);
      expect(done, `${done.error?.detail}\n${site.log.slice(-3000)}`).toMatchObject({ state: 'COMPLETED' });
      return done;
    };
    await deploy();
    await until('packets through nftables', isAnswered, 20_000);
    const { items } = await server.api.call('listNfInstances');
    expect(items).toMatchObject([{ nf: 'nftables-firewall', driver: 'process', server: 'edge-1' }]);
    const { state } = await server.api.call('getNfInstanceState', { params: { id: items[0]!.id } });
    expect(state).toMatchObject({ forwarding: 'bridge', preserves: ['metadata', 'ingress-time'] });

    const rules = { policy: 'accept', rules: ['udp dport 7 counter drop'] };
    await server.api.call('putChain', { params: { id }, body: through('nftables-firewall', rules) });
    await deploy();
    expect(isAnswered()).toBe(false);

    // Real nodes run no program of users unless their operators allow it: no plan is feasible.
    const shipped = await server.api.call('getNfDescriptor', { params: { id: 'nftables-firewall' } });
    await server.api.call('createNfDescriptor', { body: NfDescriptor.parse({ ...shipped, id: 'mine' }) });
    await server.api.call('putChain', { params: { id }, body: through('mine') });
    const plan = await server.api.call('createPlan', { body: { chains: [{ chain_id: id }] } });
    expect(plan.feasible).toBe(false);
    expect(plan.conflicts).toMatchObject([{ constraint: 'implementation', unit: 'permission and programs for mine' }]);
  });

  it.skipIf(lacksProxy)('answer pages from a cache, with nothing lost, and tell how often', async () => {
    site.serve('web-1', 'page.txt');
    const { id: chain_id } = await server.api.call('createChain', { body: { ...through('http-proxy'), slos: [] } });
    const { id } = await server.api.call('createDeployment', { body: { chain_id } });
    const done = await server.finished(id);
    expect(done, `${done.error?.detail}\n${site.log.slice(-3000)}`).toMatchObject({ state: 'COMPLETED' });
    const { items } = await server.api.call('listNfInstances');
    expect(items).toMatchObject([{ nf: 'http-proxy', driver: 'process' }]);

    const page = () => site.get('client-1', '10.0.2.1', 'page.txt');
    await until('a page', async () => (await page()) !== null, 20_000);
    // Nothing but what the cache answers, for longer than it takes to call a chain broken.
    for (const untilMs = performance.now() + 12_000; performance.now() < untilMs; )
      expect(await page()).toEqual({ body: 'page.txt', cache: expect.stringMatching(/^HIT /) });
    expect(site.log.match(/GET \/page.txt/g)?.length).toBe(1);
    const deployment = await server.api.call('getDeployment', { params: { chain_id } });
    expect(deployment.reason).not.toMatch(/packet/);
    expect(isAnswered()).toBe(true);

    const figures = async () =>
      ((await server.api.call('getNfInstanceState', { params: { id: items[0]!.id } })).state as { report: Figures })
        .report;
    await until('hits are counted', async () => (await figures()).hits > 3);
    expect(await figures()).toMatchObject({ misses: 1, errors: 0 });
  });
});
