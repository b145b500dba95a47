import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { openSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { P4Assignment } from '@orrery/contract';
import { expect, it, onTestFinished } from 'vitest';
import { PACKAGE_ROOT } from '../package-root.js';
import { P4Lab, p4Missing } from '../testing/p4-lab.js';
import { until } from '../testing/scratch.js';
import { TestServer } from '../testing/server.js';

const EXAMPLES = join(PACKAGE_ROOT, '../../twin/p4/examples');
const PORTS = ['p1', 'p2'];
const missing = p4Missing();

it.skipIf(missing)(
  `a damaged P4 program is taken from the server again${missing ? ` (${missing})` : ''}`,
  async () => {
    const lab = new P4Lab();
    await lab.setUp(PORTS);
    const server = new TestServer();
    await server.listen(join(lab.directory, 's'));
    server.onHello = () => ({ type: 'welcome', node: 'tor', server_version: '0' });
    const switches = join(lab.directory, 'switches.json');
    const ports = Object.fromEntries(PORTS.map((name, i) => [name, { number: i + 1 }]));
    const control = join(lab.directory, 'control.sock');
    const place = { p4runtime: `unix:${lab.socket}`, control, device_id: 1, ports };
    writeFileSync(switches, JSON.stringify([{ node: 'tor', driver: 'p4', ...place }]));
    const state = join(lab.directory, 'st');
    const start = () => {
      const log = openSync(join(lab.directory, 'agent.log'), 'a');
      const flags = ['--server', server.url, '--origin', 'live', '--switches', switches, '--state-dir', state];
      const agent = spawn(process.execPath, [join(PACKAGE_ROOT, 'dist/agent.mjs'), 'switches', ...flags], {
        stdio: ['ignore', log, log],
      });
      onTestFinished(() => void agent.kill('SIGKILL'));
      return agent;
    };

    const bmv2_json = readFileSync(join(EXAMPLES, 'ipv4-router.json'), 'utf8');
    const p4info = readFileSync(join(EXAMPLES, 'ipv4-router.p4info.txtpb'), 'utf8');
    const hash = createHash('sha256').update(bmv2_json).update(p4info).digest('hex');
    const spec = {
      generation: 7,
      ports: [],
      entries: [],
      groups: [],
      program: P4Assignment.parse({ name: 'mine', hash }),
    };
    const desired = { type: 'switch-desired', spec, program: { hash, bmv2_json, p4info } } as const;
    const agent = start();
    await server.next('switch-hello');
    server.send(desired);
    await server.next('switch-observed', ({ observed }) => observed.generation === 7 && observed.state === 'converged');

    agent.kill('SIGKILL');
    await until('the agent ends', () => agent.signalCode !== null);
    truncateSync(join(state, 'tor', 'program.json'), 100);
    const seen = server.all('switch-observed').length;
    start();
    await until('another hello', () => server.all('switch-hello')[1]);
    await until('the program is missed', () =>
      server
        .all('switch-observed')
        .slice(seen)
        .find(({ observed }) => observed.error?.includes('has not arrived yet')),
    );
    server.send(desired);
    await until('the switch has its program', () =>
      server
        .all('switch-observed')
        .slice(seen)
        .find(({ observed }) => observed.state === 'converged'),
    );
    expect(JSON.parse(readFileSync(join(state, 'tor', 'program.json'), 'utf8'))).toMatchObject({ hash });
  },
  60_000,
);
