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

const specs = () => server.scratch.toldTwin('PUT /spec');
const daemon = async () => (await server.api.call('getTwin')).daemon;
const pid = () => {
  const file = join(server.scratch.runDir, 'twin.pid');
  return existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
};

describe('the twin', () => {
  it('starts with the first emulated node and passes tokens to the agents', async () => {
    expect(await daemon()).toBe('off');
    await server.bringUp();
    const spec = await until('its spec', async () => specs().find(({ body }) => body.generation === 1));
    expect(spec.body).toMatchObject({
      generation: 1,
      agents: {
        server_url: `ws+unix:${server.scratch.runDir}/agents.sock:/api/v1/agent`,
        join_tokens: Object.fromEntries([...RACK.servers, ...RACK.switches].map(({ id }) => [id, expect.any(String)])),
      },
    });
    await until('its state', async () => (await server.api.call('getTwin')).state?.phase === 'up');
    const { items } = await server.api.call('listCapabilities');
    expect(items.filter(({ where }) => where === 'twin').map(({ id }) => id)).toEqual(['htb']);
  });

  it('stops with the last emulated node', async () => {
    await server.bringUp();
    const was = pid();
    await server.api.call('putInfrastructure', { body: { ...RACK, servers: [], switches: [], hosts: [], links: [] } });
    await until('the twin is off', async () => (await daemon()) === 'off');
    expect(isAlive(was)).toBe(false);
  });

  it('restarts after a crash with the same nodes', async () => {
    await server.bringUp();
    const { id } = await server.api.call('createChain', { body: monitorChain('a') });
    await server.finished((await server.api.call('createDeployment', { body: { chain_id: id } })).id);
    const was = pid();
    process.kill(was, 'SIGKILL');
    await until('another twin', () => pid() !== was && specs().some((entry) => entry.pid === pid()));
    expect(specs().at(-1)).toMatchObject({ pid: pid(), body: { infrastructure: { name: RACK.name } } });
    await until('it runs', async () => (await daemon()) === 'running');
    const types = (await server.api.call('listEvents')).items.map(({ type }) => type);
    expect(types).toContain('twin.lost');
  });

  it('is well only when it is built', async () => {
    const health = async () => (await server.api.call('getHealth')).parts.find(({ name }) => name === 'twin');
    const phase = async () => (await server.api.call('getTwin')).state?.phase;
    expect(await health()).toMatchObject({ status: 'absent' });
    await server.bringUp({ ...RACK, name: 'long-to-build' });
    await until('it is being built', async () => (await phase()) === 'building');
    expect(await health()).toMatchObject({ status: 'degraded', detail: 'building' });
    await server.api.call('putInfrastructure', { body: RACK });
    await until('it is up', async () => (await phase()) === 'up');
    expect(await health()).toMatchObject({ status: 'ok', detail: 'up' });
  });

  it('is lost while it hangs, and is replaced', async () => {
    await server.bringUp();
    const was = pid();
    process.kill(was, 'SIGSTOP');
    const lost = await until('it is lost', async () => {
      const status = await server.api.call('getTwin');
      return status.daemon === 'lost' && status;
    });
    expect(lost).toMatchObject({ state: null, detail: expect.stringContaining('twind has not reported for') });
    await until('another twin', () => pid() !== was && specs().some((entry) => entry.pid === pid()), 120_000);
    await until('it runs', async () => (await daemon()) === 'running');
    expect(isAlive(was)).toBe(false);
    const { items } = await server.api.call('listEvents');
    expect(items.filter(({ type }) => type === 'twin.lost').map(({ message }) => message)).toEqual([
      expect.stringMatching(/^twind has not reported for \d+ s$/),
    ]);
  }, 240_000);

  it('answers reads soon while it hangs, also when there are many', async () => {
    await server.bringUp();
    const hung = pid();
    process.kill(hung, 'SIGSTOP');
    try {
      await until('it is lost', async () => (await daemon()) === 'lost');
      const reads = Array.from({ length: 20 }, () => [
        server.api.request('listFaults'),
        server.api.request('listPcaps'),
        server.api.request('getCapture', { params: { id: 'capture-1' } }),
      ]).flat();
      const why = expect.stringMatching(/^The twin is not available: twind has not reported for \d+ s$/);
      for (const { status, body } of await Promise.all(reads))
        expect([status, body]).toMatchObject([502, { detail: why }]);
    } finally {
      process.kill(hung, 'SIGCONT');
    }
  }, 60_000);

  it('takes changes while it is too busy to report', async () => {
    await server.bringUp();
    process.kill(pid(), 'SIGUSR2');
    await until('it is shown as lost', async () => (await daemon()) === 'lost');
    const fault = await server.api.call('injectFault', { body: { kind: 'link-down', target: 'server-1-leaf-1' } });
    expect((await server.api.call('listFaults')).items).toEqual([fault]);
  });

  it('refuses an infrastructure that it cannot build before anything is stored', async () => {
    const refused = () =>
      server.api.request('putInfrastructure', { body: JSON.stringify({ ...RACK, name: 'refused' }) });
    const first = await refused();
    expect([first.status, first.body]).toMatchObject([422, { errors: [{ pointer: '/links/2/delay_us' }] }]);
    expect((await server.api.call('getInfrastructure')).servers).toEqual([]);
    await until('no twin is left', async () => (await daemon()) === 'off');

    await server.bringUp();
    expect((await refused()).status).toBe(422);
    expect(await server.api.call('getInfrastructure')).toEqual(RACK);
    expect(specs().filter(({ body }) => body.infrastructure?.name === 'refused')).toEqual([]);
  });

  it('reports why it refuses an infrastructure that it accepted before, and accepts the next', async () => {
    await server.bringUp();
    await server.api.call('putInfrastructure', { body: { ...RACK, name: 'refused-later' } });
    await until('the reason', async () => (await server.api.call('getTwin')).detail?.includes('cannot be built'));
    await server.api.call('putInfrastructure', { body: RACK });
    await until('no reason', async () => (await server.api.call('getTwin')).detail === null);
    expect(specs().at(-1)!.body.generation).toBe(3);
  });

  it('does not allow removal of a server that runs chains', async () => {
    await server.bringUp();
    const { id } = await server.api.call('createChain', { body: monitorChain('a') });
    await server.finished((await server.api.call('createDeployment', { body: { chain_id: id } })).id);
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

  it('accepts faults and captures, and passes refusals through', async () => {
    await server.bringUp();
    const fault = await server.api.call('injectFault', { body: { kind: 'link-down', target: 'server-1-leaf-1' } });
    expect((await server.api.call('listFaults')).items).toEqual([fault]);
    const isDown = async () => (await server.api.call('getTwin')).state?.links.some(({ up }) => !up);
    await until('the state shows the link down', async () => (await isDown()) === true);
    expect((await server.api.request('clearFault', { params: { id: 'fault-9' } })).status).toBe(404);
    const capture = Buffer.alloc(24 + 16 + 60);
    capture.write('d4c3b2a1', 'hex');
    const headers = { 'content-type': 'application/octet-stream' };
    const uploaded = await server.api.request('uploadPcap', { query: { name: 'a b.pcap' }, body: capture, headers });
    expect([uploaded.status, uploaded.body]).toMatchObject([201, { name: 'a b.pcap', bytes: 100 }]);
    // Only a section header block: only twind reads further.
    const section = Buffer.from('0a0d0d0a1c0000004d3c2b1a01000000ffffffffffffffff1c000000', 'hex');
    const newer = await server.api.request('uploadPcap', { query: { name: 'b.pcapng' }, body: section, headers });
    expect([newer.status, newer.body]).toMatchObject([201, { name: 'b.pcapng', bytes: 28 }]);
  });

  it('stops a capture of packets before its limits', async () => {
    await server.bringUp();
    const { id } = await server.api.call('startCapture', { body: { host: 'client-1' } });
    expect(await server.api.call('stopCapture', { params: { id } })).toMatchObject({
      state: 'completed',
      stopped_by: 'user',
    });
    expect((await server.api.request('stopCapture', { params: { id: 'capture-9' } })).status).toBe(404);
  });

  it('deletes a capture only when nothing replays it', async () => {
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
    const config = { pcap_id: used.id };
    await server.api.call('createApplication', {
      body: { id: 'replay', kind: 'pcap-replay', node: 'client-1', config },
    });
    await until(
      'the twin replays it',
      () => server.scratch.toldTwin('PUT /applications').at(-1)?.body.applications.length === 1,
    );
    const remove = async (id: string) => (await server.api.request('deletePcap', { params: { id } })).status;
    expect([await remove(used.id), await remove(unused.id), await remove(unused.id)]).toEqual([409, 204, 404]);
    expect((await server.api.call('listPcaps')).items).toEqual([used]);
    const events = (await server.api.call('listEvents', { query: { type: 'pcap.deleted' } })).items;
    expect(events).toMatchObject([{ subject: unused.id }]);
  });

  it('accepts captures of up to 64 MB and not a byte more', async () => {
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
  it('says so, and everything else keeps working', async () => {
    await server.stop();
    server = await TestServer.start({ twin: true, env: { ORRERY_TWIND: '/bin/false' } });
    await server.api.call('putInfrastructure', { body: RACK });
    const status = await until('the reason', async () => {
      const now = await server.api.call('getTwin');
      return now.detail !== null && now;
    });
    expect(status).toMatchObject({ enabled: true, detail: expect.stringMatching('/bin/false ended with 1') });
    const answer = await server.api.request('injectFault', {
      body: JSON.stringify({ kind: 'agent-kill', target: 'server-1' }),
    });
    expect(answer.status).toBe(502);
    const probe = { id: 'probe', kind: 'probe', node: 'client-1', config: { to: 'web-1' } } as const;
    expect((await server.api.call('createApplication', { body: probe })).status).toMatchObject({
      state: 'unknown',
      detail: expect.stringMatching('/bin/false ended with 1'),
    });
    const { id } = await server.api.call('createChain', { body: monitorChain('a') });
    expect((await server.api.call('createPlan', { body: { chains: [{ chain_id: id }] } })).feasible).toBe(true);
  });
});
