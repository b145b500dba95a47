import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { eventLog, scratchDirectory, until } from '../testing/scratch.js';
import { instance } from '../testing/specs.js';
import { type Runner, type RunningInstance, recordOf } from './hosted-instance.js';
import { GONE, HostedInstances } from './hosted-instances.js';

const ID = 'p.nat.0';
const spec = instance(ID, { nf: 'nat', driver: 'process' });
const change = { deploy: [], configure: [], destruct: [], wiring: null };

const running: RunningInstance = {
  ends: { near: 'n', far: 'f' },
  ended: new Promise(() => undefined),
  watch: () => undefined,
  stop: async () => undefined,
  release: () => undefined,
};

const runner: Runner<RunningInstance> = {
  adopt: async () => null,
  start: async () => running,
  configure: async () => true,
  interfaces: () => [],
  relink: async () => undefined,
  linked: async () => true,
  clear: async () => undefined,
};

function setUp(runs = runner) {
  const folder = scratchDirectory();
  /** What is there at each change. */
  const seen: string[][] = [];
  const instances = new HostedInstances(runs, folder, eventLog().emit, () => seen.push(readdirSync(folder)));
  onTestFinished(() => instances.close(true));
  return { folder, seen, instances };
}

it('moves the folder of an instance that is gone away, and removes it beside other work', async () => {
  const { folder, seen, instances } = setUp();
  instances.realize({ ...change, deploy: [spec] }, (it) => recordOf(it, 'd'));
  await until('it runs', () => instances.observe().get(ID)?.state === 'running');
  for (let i = 0; i < 100; i++) writeFileSync(join(instances.directory(ID), String(i)), '');
  instances.realize({ ...change, destruct: [ID] }, (it) => recordOf(it, 'd'));
  await until('it is gone', () => !instances.has(ID));
  expect(seen.at(-1)).toEqual([expect.stringContaining(GONE)]);
  await until('its files are gone', () => readdirSync(folder).length === 0);
});

it('removes what an earlier agent had no time for, and begins nothing of it', async () => {
  const { folder, instances } = setUp();
  const left = join(folder, `x${GONE}1`);
  mkdirSync(left);
  writeFileSync(join(left, 'record.json'), JSON.stringify(recordOf(spec, 'd')));
  await instances.adopt();
  expect(instances.all).toEqual([]);
  await until('it is removed', () => readdirSync(folder).length === 0);
});

it('opens no interfaces of a program that has ended, before it is known how', async () => {
  const relinked: string[] = [];
  const program = { ...running, isOver: false };
  const { instances } = setUp({
    ...runner,
    start: async () => program,
    interfaces: () => ['near'],
    relink: async (id) => void relinked.push(id),
  });
  instances.realize({ ...change, deploy: [spec] }, (it) => recordOf(it, 'd'));
  await until('it runs', () => instances.observe().get(ID)?.state === 'running');
  await instances.relink(ID);
  program.isOver = true;
  await instances.relink(ID);
  expect(relinked).toEqual([ID]);
  expect(instances.interfaces).toEqual([{ name: 'near', instance_id: ID, isRunning: false }]);
  expect(instances.observe().get(ID)).toMatchObject({ state: 'failed', detail: 'it has ended' });
});
