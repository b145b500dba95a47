import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Infrastructure } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LiveSite, siteMissing } from './testing/live-site.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

const missing = siteMissing();
const HOSTS = { one: '10.0.1.1', two: '10.0.2.1', three: '10.0.3.1' };
type Host = keyof typeof HOSTS;

/** One switch with its agent, and a cable to each of the hosts. */
function siteOf(...hosts: Host[]): Infrastructure {
  const all = Object.entries(HOSTS).map(([id, address], i) => ({ id, address, number: i + 1 }));
  const chosen = all.filter(({ id }) => hosts.includes(id as Host));
  return Infrastructure.parse({
    name: 'site',
    servers: [],
    switches: [{ id: 'tor', origin: 'live', driver: 'ovs', ports: 8, table_entries: 1000, actions: ['forward'] }],
    hosts: chosen.map(({ id, address, number }) => ({
      id,
      origin: 'live',
      role: 'client',
      addresses: [{ address }],
      mac: `02:00:00:00:00:0${number}`,
    })),
    links: chosen.map(({ id, number }) => ({
      id: `${id}-tor`,
      a: { node: id, port: 'eth0' },
      b: { node: 'tor', port: `p${number}` },
      bandwidth_bps: 1e9,
    })),
  });
}

describe.skipIf(missing)(`a switch that comes back${missing ? ` (${missing})` : ''}`, () => {
  const PATIENT = { env: { ORRERY_AGENT_STALE_MS: '4000' } };
  let server: TestServer;
  let site: LiveSite;
  beforeEach(async () => {
    server = await TestServer.start(PATIENT);
    site = new LiveSite(siteOf('one', 'two', 'three'), server);
    await site.setUp();
  });
  afterEach(async () => {
    await site.tearDown();
    await server.stop();
  });

  const put = (infrastructure: Infrastructure) => server.api.call('putInfrastructure', { body: infrastructure });
  const tor = () => server.api.call('getSwitch', { params: { id: 'tor' } });
  /** Hosts to which the bridge forwards. */
  const forwarded = () => Object.entries(HOSTS).flatMap(([id, to]) => (site.flows().join().includes(to) ? [id] : []));
  /** Waits until the server says that the switch has what is planned, which must then be true. */
  const expectForwarded = async (...hosts: Host[]) => {
    const { generation } = await until('the server says so', async () => {
      const { connected, planned, observed } = await tor();
      const isReached = observed?.state === 'converged' && observed.generation === planned?.generation;
      return connected && isReached && planned;
    }).catch((error: Error) => {
      throw new Error(`${error.message}\n${site.log.slice(-2000)}`);
    });
    expect(forwarded()).toEqual(hosts);
    return generation;
  };

  it('into the infrastructure, after it was removed, gets what is planned for it now', async () => {
    await put(siteOf('one'));
    await site.startSwitchAgent();
    await expectForwarded('one');
    await put({ ...siteOf(), switches: [] });
    await put(siteOf('two'));
    await expectForwarded('two');
  });

  it('to a server whose state was restored gets the newest entries, not those of the same age that it has', async () => {
    await put(siteOf('one'));
    await site.startSwitchAgent();
    const saved = await expectForwarded('one');
    const backup = join(server.scratch.path, 'backup');
    const { stateDir } = server.scratch;
    const restart = async (meanwhile: () => void) => {
      await server.pause();
      meanwhile();
      server = await TestServer.start(PATIENT, server.scratch);
    };
    await restart(() => cpSync(stateDir, backup, { recursive: true }));
    await put(siteOf('one', 'two'));
    const lost = await expectForwarded('one', 'two');
    expect(lost).toBeGreaterThan(saved);

    const agent = site.agents.get('tor')!;
    agent.kill('SIGSTOP');
    await restart(() => {
      rmSync(stateDir, { recursive: true });
      cpSync(backup, stateDir, { recursive: true });
    });
    await put(siteOf('one', 'three'));
    const { planned } = await until('the entries', async () => {
      const state = await tor();
      return state.planned !== null && state.planned.generation !== saved && state;
    });
    expect(planned!.generation).not.toBe(lost);
    agent.kill('SIGCONT');
    expect(await expectForwarded('one', 'three')).toBe(planned!.generation);
  });
});
