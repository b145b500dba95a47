import type { InstanceSpec } from '@orrery/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BoardDriver } from './drivers/board/board-driver.js';
import { SimulatedBoard } from './drivers/board/simulated/simulated-board.js';
import { ContainerInstance } from './drivers/container/container-instance.js';
import type { DropTotal } from './drivers/container/drop-total.js';
import type { NfClient } from './drivers/container/nf-client.js';
import { compile } from './drivers/engine/compile.js';
import { EngineClient } from './drivers/engine/engine-client.js';
import { EngineDriver } from './drivers/engine/engine-driver.js';
import { type InstanceRecord, type Runner, type RunningInstance, recordOf } from './drivers/hosted-instance.js';
import { HostedInstances } from './drivers/hosted-instances.js';
import { digestOf } from './drivers/instance-digest.js';
import { type Held, ProgramInstance } from './drivers/legacy/program-instance.js';
import type { Change, Drift } from './drivers/nf-driver.js';
import { DetachedProcess } from './platform/detached-process.js';
import type { HeartbeatTiming } from './platform/heartbeat.js';
import { FakeBoardd } from './testing/boards/fake-boardd.js';
import { endAfterTest, eventLog, FAKE_ENGINE, scratchDirectory, until } from './testing/scratch.js';
import { ENGINE_TRAITS, instance, linearChain } from './testing/specs.js';

/** A peer that is silent for long is not given up, so that a slow machine cannot end it. */
const PATIENT: HeartbeatTiming = { period_ms: 50, silent_ms: 400, dead_ms: 60_000 };
const STRICT: HeartbeatTiming = { period_ms: 50, silent_ms: 400, dead_ms: 1500 };
const none: Change = { deploy: [], configure: [], destruct: [], wiring: null };

/** One driver with one running instance, and what may happen to it. */
interface Bench {
  /** That of its instance; undefined: it is not there. */
  state(): string | undefined;
  events: () => string[];
  /** Differences that were told so far, and those that are there now. */
  found: Drift[];
  drifts: () => readonly Drift[];
  /** Identifies the running process. */
  run(): unknown;
  /** What the reconciler does about a difference. */
  repair(): Promise<void>;
  kill(): void;
  stop(): void;
  go(): void;
  /** Somebody else changes it. */
  meddle(): Promise<void>;
}

async function engine(timing: HeartbeatTiming): Promise<Bench> {
  const run_dir = scratchDirectory();
  const log = eventLog();
  const found: Drift[] = [];
  const driver: EngineDriver = new EngineDriver(
    { path: FAKE_ENGINE, run_dir, memory: 'auto', workers: 1, node: 'n1', origin: 'twin' },
    log.emit,
    () => found.push(...driver.drifts),
    timing,
  );
  endAfterTest(() => driver.view.pid);
  const spec = linearChain();
  const { graph, probes } = compile(spec, ENGINE_TRAITS);
  const instances = new Map(spec.instances.map((one) => [one.id, digestOf(one)]));
  const wiring = { graph, probes, instances, digest: digestOf(graph) };
  const apply = () => driver.realize({ ...none, wiring });
  await driver.start();
  await apply();
  // Counters are read all the time, and nothing may depend on when.
  const reads = setInterval(() => driver.stats().catch(() => undefined), 50);
  onTestFinished(() => clearInterval(reads));
  const signal = (name: NodeJS.Signals) => process.kill(driver.view.pid!, name);
  return {
    state: () => {
      const { status, instances: there } = driver.view;
      if (!there.has('lin.fw.0')) return undefined;
      return status === 'unresponsive' ? 'failed' : status;
    },
    events: log.names,
    found,
    drifts: () => driver.drifts,
    run: () => driver.view.pid,
    repair: async () => {
      if (driver.view.status === 'failed') await driver.start();
      if (driver.view.status === 'running' && driver.view.applied === null) await apply();
    },
    kill: () => signal('SIGKILL'),
    stop: () => signal('SIGSTOP'),
    go: () => signal('SIGCONT'),
    meddle: async () => {
      const other = await EngineClient.connect(`${run_dir}/engine.sock`, () => undefined);
      await other.apply({ generation: 9, ports: [], modules: [], links: [], tasks: [] });
      other.close();
    },
  };
}

/** Instances outside the engine, each a real process without interfaces. */
async function hosted(begin: (record: InstanceRecord, run: DetachedProcess, path: string) => RunningInstance) {
  const folder = scratchDirectory();
  const log = eventLog();
  let latest: DetachedProcess | null = null;
  let count = 0;
  const runner: Runner<RunningInstance> = {
    adopt: async () => null,
    start: async (record) => {
      const path = `${folder}/${count++}`;
      latest?.kill();
      const files = { log_file: `${path}.log`, pid_file: `${path}.pid` };
      const started = await DetachedProcess.start({ command: FAKE_ENGINE, args: ['--socket', path], ...files });
      latest = started;
      return begin(record, started, path);
    },
    configure: async () => true,
    interfaces: () => [],
    relink: async () => undefined,
    linked: async () => true,
    clear: async () => undefined,
  };
  endAfterTest(() => latest?.pid);
  const instances = new HostedInstances(runner, folder, log.emit, () => undefined);
  onTestFinished(() => instances.close(true));
  const one = instance('p.x.0', { driver: 'process' });
  instances.realize({ ...none, deploy: [one] }, (spec: InstanceSpec) => recordOf(spec, 'd1'));
  const state = () => instances.observe().get('p.x.0')?.state;
  await until('it runs', () => state() === 'running');
  const signal = (name: NodeJS.Signals) => process.kill(latest!.pid, name);
  return {
    state,
    events: log.names,
    found: [],
    drifts: () => [],
    run: () => latest!.pid,
    repair: async () => undefined,
    kill: () => signal('SIGKILL'),
    stop: () => signal('SIGSTOP'),
    go: () => signal('SIGCONT'),
    meddle: async () => instances.recreate('p.x.0', 'its interface is gone'),
  };
}

/** Without a network namespace. */
const held: Held = {
  holder: { pid: 1, ended: new Promise(() => undefined), release: () => undefined },
  killMembers: () => undefined,
};

const ofProcess = (timing: HeartbeatTiming) => hosted((_, run) => new ProgramInstance('p.x.0', held, run, { timing }));

const ofContainer = (timing: HeartbeatTiming) =>
  hosted((_, run, control) => {
    const client = { close: () => undefined } as NfClient;
    const ends = { near: 'n', far: 'f' };
    const found = new ContainerInstance(ends, client, null, true, {} as DropTotal, { control, timing });
    // As Docker tells.
    run.ended.then((how) => found.end({ how }));
    return found;
  });

async function board(timing: HeartbeatTiming): Promise<Bench> {
  const fake = new FakeBoardd(scratchDirectory());
  await fake.start();
  onTestFinished(() => fake.kill());
  fake.writeImage('fw.bit', 'partial', ['stateful-firewall'], 0);
  const log = eventLog();
  const { control, events, directory: images } = fake;
  const slots = [0, 1].map((n) => ({ near: `n${n}`, far: `f${n}` }));
  const boards = [{ id: 'b1', backend: 'simulated' as const, control, events, images, slots }];
  const present = new Map(['n0', 'f0', 'n1', 'f1'].map((name) => [name, { sent: 0, received: 0 }]));
  const found: Drift[] = [];
  const driver: BoardDriver = new BoardDriver(
    { boards, netdevs: () => present, makePort: (config) => new SimulatedBoard(config as (typeof boards)[0], timing) },
    log.emit,
    () => found.push(...driver.drifts),
  );
  onTestFinished(() => driver.stop());
  await driver.start();
  const place = { board: 'b1', slot: 0, load: 'partial' as const, policy: 'hold' as const };
  const one = instance('p.x.0', { nf: 'stateful-firewall', driver: 'board', board: place });
  await driver.realize({ ...none, deploy: [one] });
  const state = () => driver.observe().get('p.x.0')?.state;
  await until('it runs', () => state() === 'running');
  let powerOns = 0;
  let wake = () => {};
  return {
    state,
    events: log.names,
    found,
    drifts: () => driver.drifts,
    run: () => powerOns,
    repair: async () => undefined,
    kill: () => {
      powerOns++;
      void fake.kill().then(() => fake.start());
    },
    stop: () => {
      wake = fake.hang();
    },
    go: () => wake(),
    meddle: async () => {
      fake.slots[0] = { state: 'empty', model: null, error: null };
    },
  };
}

/** What is told of each: when it falls silent, answers again, ends. A board is not the agent's to replace. */
const DRIVERS = [
  { kind: 'engine', bench: engine, silent: 'engine.unresponsive', back: 'engine.answers', ended: 'engine.ended' },
  {
    kind: 'process',
    bench: ofProcess,
    silent: 'instance.unresponsive',
    back: 'instance.answers',
    ended: 'instance.ended',
  },
  {
    kind: 'container',
    bench: ofContainer,
    silent: 'instance.unresponsive',
    back: 'instance.answers',
    ended: 'instance.ended',
  },
  { kind: 'board', bench: board, silent: 'board.lost', back: 'board.back', ended: 'board.lost' },
] as const;

/** Repairs as the reconciler does until the instance runs. */
const recovers = (bench: Bench) =>
  until('it runs again', async () => {
    await bench.repair();
    return bench.state() === 'running';
  });

const told = (bench: Bench, event: string) => until(`${event} is told`, () => bench.events().includes(event));

describe.each(DRIVERS)('$kind', ({ kind, bench: make, silent, back, ended }) => {
  it('killed: told, and runs again', async () => {
    const bench = await make(PATIENT);
    const before = bench.run();
    bench.kill();
    await told(bench, ended);
    await recovers(bench);
    expect(bench.run()).not.toBe(before);
  });

  it('stopped for a while: not running meanwhile, told, and continues as it was', async () => {
    const bench = await make(PATIENT);
    const before = bench.run();
    bench.stop();
    await told(bench, silent);
    expect(bench.state()).toBe('failed');
    bench.go();
    await told(bench, back);
    await recovers(bench);
    expect(bench.run()).toBe(before);
  });

  // A board is not the agent's to replace.
  const replaced = async () => {
    const bench = await make(STRICT);
    const before = bench.run();
    bench.stop();
    await told(bench, silent);
    await told(bench, ended);
    await recovers(bench);
    expect(bench.run()).not.toBe(before);
  };
  if (kind !== 'board') it('stopped for long: replaced, and told why', replaced);

  it('changed by somebody else: told, and repaired', async () => {
    const bench = await make(PATIENT);
    await bench.meddle();
    if (kind === 'process' || kind === 'container') await told(bench, 'instance.ended');
    else await until('it is told', () => bench.found.length > 0);
    await recovers(bench);
    await until('nothing differs', () => bench.drifts().length === 0);
  });
});
