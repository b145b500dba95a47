import { type ChildProcess, spawn } from 'node:child_process';
import { openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SwitchSpec } from '@orrery/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PACKAGE_ROOT } from '../package-root.js';
import { OvsLab, ovsMissing } from '../testing/ovs-lab.js';
import { until } from '../testing/scratch.js';
import { TestServer } from '../testing/server.js';

const missing = ovsMissing();
const spec: SwitchSpec = {
  generation: 7,
  ports: ['p1', 'p2'].map((name) => ({ name, role: 'host', neighbour: name })),
  entries: [
    {
      table: 'admit',
      priority: 300,
      rule_id: 'hop/1',
      match: { fields: { 'eth.dst': { value: 0x020e_0001_0000, mask: 0xffff_ffff_0000 } } },
      actions: [{ do: 'output', port: 'p2' }],
    },
  ],
  groups: [],
};

async function bench() {
  const lab = new OvsLab();
  await lab.setUp(['p1', 'p2']);
  const server = new TestServer();
  await server.listen(join(lab.directory, 's'));
  server.onHello = () => ({ type: 'welcome', node: 'tor', server_version: '0' });
  const file = join(lab.directory, 'switches.json');
  writeFileSync(file, JSON.stringify([{ node: 'tor', driver: 'ovs', bridge: lab.bridge, run_dir: lab.run_dir }]));
  const start = (): ChildProcess => {
    const log = openSync(join(lab.directory, 'agent.log'), 'a');
    const flags = ['--server', server.url, '--origin', 'live', '--switches', file];
    const args = [join(PACKAGE_ROOT, 'dist/agent.mjs'), 'switches', ...flags, '--state-dir', join(lab.directory, 'st')];
    const agent = spawn(process.execPath, args, { stdio: ['ignore', log, log] });
    onTestFinished(() => void agent.kill('SIGKILL'));
    return agent;
  };
  const agent = start();
  await server.next('switch-hello');
  server.send({ type: 'switch-desired', spec });
  const holds = () =>
    server.next('switch-observed', ({ observed }) => observed.generation === 7 && observed.state === 'converged');
  await holds();
  return { lab, server, agent, start, holds };
}

describe.skipIf(missing)(`the agent of a switch${missing ? ` (${missing})` : ''}`, () => {
  it('reports abilities, keeps its rules without a server, and finds them after a restart', async () => {
    const { lab, server, agent, start } = await bench();
    const [hello] = server.all('switch-hello');
    expect(hello!.description).toMatchObject({ driver: 'ovs', software: expect.stringContaining('Open vSwitch') });
    const flows = () => lab.flows().map((line) => line.replace(/(duration|idle_age)=[^,]+,/g, ''));
    const before = flows();
    expect(before).toHaveLength(1);
    await server.close();
    agent.kill('SIGKILL');
    start();
    await server.listen();
    const again = await until('another hello', () => server.all('switch-hello')[1]);
    expect(again.observed!.repairs).toBe(0);
    expect(flows()).toEqual(before);
  });

  it('restores the switch after Open vSwitch was killed, and reports it', async () => {
    const { lab, server } = await bench();
    const pid = Number(lab.run('cat', `${lab.run_dir}/ovs-vswitchd.pid`));
    process.kill(pid, 'SIGKILL');
    await server.next('switch-observed', ({ observed }) => observed.state === 'failed');
    await lab.startSwitch();
    await until('the flow', () => lab.flows().some((line) => line.includes('02:0e:00:01')));
    await server.next('event', ({ event }) => event === 'switch.recovered');
  });

  it('reports a switch that hangs, and continues when it responds again', async () => {
    const { lab, server } = await bench();
    const pid = Number(lab.run('cat', `${lab.run_dir}/ovs-vswitchd.pid`));
    process.kill(pid, 'SIGSTOP');
    const { observed } = await server.next('switch-observed', (seen) => seen.observed.state === 'failed', 15_000);
    expect(observed.error).toContain('does not answer within 1 s');
    process.kill(pid, 'SIGCONT');
    await server.next('event', ({ event }) => event === 'switch.recovered', 15_000);
  });
});
