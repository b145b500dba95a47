import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PcapInfo } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isAlive } from './testing/child-server.js';
import { monitorChain, RACK } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

let server: TestServer;
beforeEach(async () => {
  server = await TestServer.start({ twin: true });
});
afterEach(() => server.stop());

const told = (call: string) => server.scratch.twinJournal().filter((entry) => entry.call === call);
const daemon = async () => (await server.api.call('getTwin')).daemon;
const pid = () => {
  const file = join(server.scratch.runDir, 'twin.pid');
  return existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
};

describe('the twin', () => {
  it('starts with the first emulated node and gets the agents their tokens', async () => {
    expect(await daemon()).toBe('off');
    await server.bringUp();
    const [spec] = told('PUT /spec');
    expect(spec!.body).toMatchObject({
      generation: 1,
      agents: {
        server_url: `ws+unix:${server.scratch.runDir}/agents.sock:/api/v1/agent`,
        join_tokens: Object.fromEntries(RACK.servers.map(({ id }) => [id, expect.any(String)])),
      },
    });
    await until('its state', async () => (await server.api.call('getTwin')).state?.phase === 'up');
    const { items } = await server.api.call('listCapabilities');
    expect(items.filter(({ where }) => where === 'twin').map(({ id }) => id)).toEqual(['htb']);
  });

  it('ends with the last emulated node', async () => {
    await server.bringUp();
    const was = pid();
    await server.api.call('putInfrastructure', { body: { ...RACK, servers: [], switches: [], hosts: [], links: [] } });
    await until('the twin is off', async () => (await daemon()) === 'off');
    expect(isAlive(was)).toBe(false);
  });

  it('comes back after its death with the same nodes and rules', async () => {
    await server.bringUp();
    const { id } = await server.api.call('createPipeline', { body: monitorChain('a') });
    await server.finished((await server.api.call('createDeployment', { body: { pipeline_id: id } })).id);
    const rules = told('PUT /fabric').at(-1)!.body;
    const was = pid();
    process.kill(was, 'SIGKILL');
    await until('another twin', () => pid() !== was && told('PUT /fabric').some((entry) => entry.pid === pid()));
    expect(told('PUT /spec').at(-1)).toMatchObject({ pid: pid(), body: { infrastructure: { name: RACK.name } } });
    expect(told('PUT /fabric').at(-1)!.body).toEqual(rules);
    await until('it runs', async () => (await daemon()) === 'running');
    const types = (await server.api.call('listEvents')).items.map(({ type }) => type);
    expect(types).toContain('twin.lost');
  });

  it('says why it refuses an infrastructure, and takes the next', async () => {
    await server.bringUp();
    await server.api.call('putInfrastructure', { body: { ...RACK, name: 'refused' } });
    await until('the reason', async () => (await server.api.call('getTwin')).detail?.includes('cannot be built'));
    await server.api.call('putInfrastructure', { body: RACK });
    await until('no reason', async () => (await server.api.call('getTwin')).detail === null);
    expect(told('PUT /spec').at(-1)!.body.generation).toBe(3);
  });

  it('keeps a server that carries pipelines', async () => {
    await server.bringUp();
    const { id } = await server.api.call('createPipeline', { body: monitorChain('a') });
    await server.finished((await server.api.call('createDeployment', { body: { pipeline_id: id } })).id);
    const used = (await server.api.call('listNfInstances')).items[0]!.server;
    const body = {
      ...RACK,
      servers: RACK.servers.filter((node) => node.id !== used),
      links: RACK.links.filter(({ a, b }) => a.node !== used && b.node !== used),
    };
    const answer = await server.api.request('putInfrastructure', { body: JSON.stringify(body) });
    expect(answer.status).toBe(409);
    expect(answer.body).toMatchObject({ errors: [{ pointer: '/servers', code: 'in-use' }] });
  });

  it('takes traffic, faults and captures, and passes its refusals on', async () => {
    await server.bringUp();
    const body = { kind: 'http', from: 'client-1', to: 'web-1' } as const;
    const traffic = await server.api.call('startTraffic', { body });
    expect((await server.api.call('listTraffic')).items.map(({ id }) => id)).toEqual([traffic.id]);
    const fault = await server.api.call('injectFault', { body: { kind: 'link-down', target: 'server-1-leaf-1' } });
    expect((await server.api.call('listFaults')).items).toEqual([fault]);
    expect((await server.api.request('stopTraffic', { params: { id: 'traffic-9' } })).status).toBe(404);
    const capture = Buffer.alloc(24 + 16 + 60);
    capture.write('d4c3b2a1', 'hex');
    const headers = { 'content-type': 'application/octet-stream' };
    const uploaded = await server.api.request('uploadPcap', { query: { name: 'a b.pcap' }, body: capture, headers });
    expect([uploaded.status, uploaded.body]).toMatchObject([201, { name: 'a b.pcap', bytes: 100 }]);
    // A section header block and nothing else: twind alone reads on.
    const section = Buffer.from('0a0d0d0a1c0000004d3c2b1a01000000ffffffffffffffff1c000000', 'hex');
    const newer = await server.api.request('uploadPcap', { query: { name: 'b.pcapng' }, body: section, headers });
    expect([newer.status, newer.body]).toMatchObject([201, { name: 'b.pcapng', bytes: 28 }]);
  });

  it('gives up a capture that nothing replays', async () => {
    await server.bringUp();
    const capture = Buffer.alloc(40);
    capture.write('d4c3b2a1', 'hex');
    const upload = {
      query: { name: 'x.pcap' },
      body: capture,
      headers: { 'content-type': 'application/octet-stream' },
    };
    const [used, unused] = [
      (await server.api.request('uploadPcap', upload)).body as PcapInfo,
      (await server.api.request('uploadPcap', upload)).body as PcapInfo,
    ];
    await server.api.call('startTraffic', { body: { kind: 'pcap', from: 'client-1', pcap_id: used.id } });
    const remove = async (id: string) => (await server.api.request('deletePcap', { params: { id } })).status;
    expect([await remove(used.id), await remove(unused.id), await remove(unused.id)]).toEqual([409, 204, 404]);
    expect((await server.api.call('listPcaps')).items).toEqual([used]);
    const events = (await server.api.call('listEvents', { query: { type: 'pcap.deleted' } })).items;
    expect(events).toMatchObject([{ subject: unused.id }]);
  });

  it('gets captures of up to 64 MB and not a byte more', async () => {
    await server.bringUp();
    const headers = { 'content-type': 'application/octet-stream' };
    const capture = Buffer.alloc(64 * 1024 * 1024 + 1);
    capture.write('d4c3b2a1', 'hex');
    const fits = capture.subarray(0, capture.length - 1);
    expect((await server.api.request('uploadPcap', { query: { name: 'x' }, body: fits, headers })).status).toBe(201);
    const over = await server.api.request('uploadPcap', { query: { name: 'x' }, body: capture, headers });
    expect(over.status).toBe(413);
  });
});

describe('a twin that cannot start', () => {
  it('says so and leaves everything else working', async () => {
    await server.stop();
    server = await TestServer.start({ twin: true, env: { ORRERY_TWIND: '/bin/false' } });
    await server.api.call('putInfrastructure', { body: RACK });
    const status = await until('the reason', async () => {
      const now = await server.api.call('getTwin');
      return now.detail !== null && now;
    });
    expect(status).toMatchObject({ enabled: true, detail: expect.stringMatching('/bin/false ended with 1') });
    const answer = await server.api.request('startTraffic', {
      body: JSON.stringify({ kind: 'probe', from: 'client-1', to: 'web-1' }),
    });
    expect(answer.status).toBe(502);
    const { id } = await server.api.call('createPipeline', { body: monitorChain('a') });
    expect((await server.api.call('createPlan', { body: { pipelines: [{ pipeline_id: id }] } })).feasible).toBe(true);
  });
});
