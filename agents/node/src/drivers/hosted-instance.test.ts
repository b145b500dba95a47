import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { instance } from '../testing/specs.js';
import {
  type End,
  HostedInstance,
  type InstanceListener,
  type InstanceRecord,
  type Runner,
  type RunningInstance,
  recordOf,
} from './hosted-instance.js';
import { DriverError } from './nf-driver.js';

class FakeInstance implements RunningInstance {
  readonly ends = { near: 'n', far: 'f' };
  end: (end: End) => void = () => undefined;
  readonly ended = new Promise<End>((resolve) => {
    this.end = resolve;
  });
  isOver = false;
  stopped = false;
  released = false;
  hears: InstanceListener = { silent: () => undefined, back: () => undefined, over: () => undefined };

  watch(listener: InstanceListener) {
    this.hears = listener;
  }

  async stop() {
    this.stopped = true;
  }

  release() {
    this.released = true;
  }
}

/** Fails as often as told; configures in place unless told otherwise. */
class FakeRunner implements Runner<FakeInstance> {
  readonly instances: FakeInstance[] = [];
  readonly starts: number[] = [];
  failures: Error[] = [];
  inPlace: () => boolean = () => true;
  clears = 0;
  isLinked = true;

  async adopt() {
    return null;
  }

  async start() {
    this.starts.push(Date.now());
    const failure = this.failures.shift();
    if (failure) throw failure;
    this.instances.push(new FakeInstance());
    return this.instances.at(-1)!;
  }

  provide: (record: InstanceRecord) => Promise<void> | null = () => null;

  async configure() {
    return this.inPlace();
  }

  interfaces() {
    return ['n', 'f'];
  }

  async relink() {}

  async linked() {
    return this.isLinked;
  }

  async clear() {
    this.clears++;
    const failure = this.failures.shift();
    if (failure) throw failure;
  }
}

const record = (digest: string): InstanceRecord => recordOf(instance('p.a.0'), digest);
const settle = () => vi.advanceTimersByTimeAsync(0);

function setUp() {
  const runner = new FakeRunner();
  const told: string[] = [];
  const taken: string[] = [];
  let gone = 0;
  let changes = 0;
  const one = new HostedInstance(record('d1'), runner, {
    changed: () => changes++,
    ended: (how) => told.push(how),
    silent: () => told.push('silent'),
    answers: (ms) => told.push(`answers after ${ms}`),
    refused: (why) => told.push(`refused: ${why}`),
    taken: ({ digest }) => taken.push(digest),
    gone: () => gone++,
  });
  const configure = (digest: string) => one.configure(record(digest));
  return { runner, told, one, configure, taken, gone: () => gone, changes: () => changes };
}

describe('HostedInstance', () => {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.spyOn(Math, 'random').mockReturnValue(1);
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });

  it('runs behind its interfaces, which remain when only the instance ends', async () => {
    const { runner, one, told } = setUp();
    expect(one.observed).toMatchObject({ state: 'starting', ends: null });
    await one.launch();
    expect(one.observed).toMatchObject({ state: 'running', detail: null, ends: { near: 'n', far: 'f' } });
    runner.instances[0]!.end({ how: 'exit code 1' });
    await settle();
    expect(one.observed).toMatchObject({ state: 'failed', detail: 'exit code 1', ends: { near: 'n' } });
    expect(told).toEqual(['exit code 1']);
    await vi.advanceTimersByTimeAsync(250);
    expect(one.observed).toMatchObject({ state: 'running', ends: { near: 'n' } });
  });

  it('is looked at as soon as it is over, before it is known how it ended', async () => {
    const { one, runner, changes } = setUp();
    void one.launch();
    await settle();
    const before = changes();
    const [running] = runner.instances;
    running!.isOver = true;
    running!.hears.over();
    expect(changes()).toBe(before + 1);
    expect(one.observed).toMatchObject({ state: 'failed', detail: 'it has ended', ends: { near: 'n' } });
  });

  it('counts as failed while it does not answer, keeps its interfaces, and continues', async () => {
    const { runner, one, told } = setUp();
    await one.launch();
    runner.instances[0]!.hears.silent();
    expect(one.observed).toMatchObject({ state: 'failed', detail: 'it does not answer', ends: { near: 'n' } });
    runner.instances[0]!.hears.back(1200);
    expect(one.observed).toMatchObject({ state: 'running', detail: null });
    expect(told).toEqual(['silent', 'answers after 1200']);
    expect(runner.starts.length).toBe(1);
  });

  it('is recreated when an interface is gone, and the silence of the one before no longer counts', async () => {
    const { runner, one, told } = setUp();
    await one.launch();
    const [first] = runner.instances;
    await one.recreate('its interface n is gone');
    expect(first!.stopped).toBe(true);
    expect(one.observed).toMatchObject({ state: 'failed', ends: null });
    await vi.advanceTimersByTimeAsync(250);
    first!.hears.silent();
    expect(one.observed).toMatchObject({ state: 'running', ends: { near: 'n' } });
    expect(told).toEqual(['its interface n is gone']);
  });

  it('has no interfaces after an end that removed them, until it runs again', async () => {
    const { runner, one } = setUp();
    await one.launch();
    runner.failures = [new DriverError('no')];
    runner.instances[0]!.end({ how: 'gone', unlinked: true });
    await settle();
    expect(one.observed.ends).toBeNull();
    await vi.advanceTimersByTimeAsync(250);
    expect(one.observed).toMatchObject({ state: 'failed', detail: 'no', ends: null });
    await vi.advanceTimersByTimeAsync(500);
    expect(one.observed).toMatchObject({ state: 'running', ends: { near: 'n' } });
  });

  it('has no interfaces when a failed start removed them', async () => {
    const { runner, one } = setUp();
    await one.launch();
    runner.failures = [new DriverError('first'), new DriverError('second')];
    runner.instances[0]!.end({ how: 'exit code 1' });
    await vi.advanceTimersByTimeAsync(250);
    expect(one.observed).toMatchObject({ detail: 'first', ends: { near: 'n' } });
    runner.isLinked = false;
    await vi.advanceTimersByTimeAsync(500);
    expect(one.observed).toMatchObject({ detail: 'second', ends: null });
  });

  it('retries after increasing delays, reports a failure once, and resets the delay after a long run', async () => {
    const { runner, one, told } = setUp();
    runner.failures = Array.from({ length: 8 }, () => new DriverError('Docker does not answer'));
    await one.launch();
    await vi.advanceTimersByTimeAsync(120_000);
    const pauses = runner.starts.slice(1).map((at, i) => at - runner.starts[i]!);
    expect(pauses).toEqual([250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000]);
    expect(told).toEqual(['Docker does not answer']);
    expect(one.restarts).toBe(8);
    runner.instances[0]!.end({ how: 'exit code 1' });
    await vi.advanceTimersByTimeAsync(250);
    expect([runner.starts.length, one.restarts]).toEqual([10, 1]);
  });

  it('retries at once when told that conditions have changed', async () => {
    const { runner, one } = setUp();
    runner.failures = [new DriverError('a'), new DriverError('b'), new DriverError('c')];
    for (let i = 0; i < 4; i++) await (i === 0 ? one.launch() : one.retry());
    expect(one.observed.state).toBe('running');
    await one.retry();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(runner.starts.length).toBe(4);
    runner.failures = [new DriverError('unknown NF', null, true)];
    runner.instances[0]!.end({ how: 'exit code 1' });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(one.observed).toMatchObject({ state: 'failed', permanent: true });
    await one.retry();
    expect(one.observed).toMatchObject({ state: 'running', permanent: false });
  });

  it('does not retry in vain, only with another configuration', async () => {
    const { runner, one, configure } = setUp();
    runner.failures = [new DriverError('bad rule', null, true)];
    await one.launch();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(runner.starts.length).toBe(1);
    expect(one.observed).toMatchObject({ state: 'failed', permanent: true, detail: 'bad rule' });
    await configure('d2');
    expect(one.observed).toMatchObject({ state: 'running', permanent: false, digest: 'd2' });
  });

  it('is configured while it runs, or is restarted', async () => {
    const { runner, one, configure, taken } = setUp();
    await one.launch();
    const configured = configure('d2');
    expect(one.observed).toMatchObject({ state: 'starting', digest: 'd2', ends: { near: 'n' } });
    await configured;
    expect(one.observed).toMatchObject({ state: 'running', digest: 'd2' });
    expect(runner.starts.length).toBe(1);
    runner.inPlace = () => false;
    // Until it runs again it does not count as running with its new configuration.
    const { stop } = runner.instances[0]!;
    const meanwhile: string[] = [];
    runner.instances[0]!.stop = () => {
      meanwhile.push(one.observed.state);
      return stop.call(runner.instances[0]);
    };
    await configure('d3');
    expect(meanwhile).toEqual(['starting']);
    expect(runner.instances.map(({ stopped }) => stopped)).toEqual([true, false]);
    expect(one.observed).toMatchObject({ state: 'running', digest: 'd3' });
    expect([runner.starts.length, taken]).toEqual([2, ['d2', 'd3']]);
  });

  it('keeps running, and restarts, with its old configuration after it refuses a new one', async () => {
    const { runner, one, configure, taken, told } = setUp();
    await one.launch();
    runner.inPlace = () => {
      throw new DriverError('bad rule', 'p.a.0', true);
    };
    await configure('d2');
    const refused = { state: 'failed', permanent: true, detail: 'bad rule', digest: 'd2', ends: { near: 'n' } };
    expect(one.observed).toMatchObject(refused);
    expect([one.running, one.record.digest, taken]).toEqual([runner.instances[0], 'd1', []]);
    runner.instances[0]!.end({ how: 'exit code 1' });
    await vi.advanceTimersByTimeAsync(60_000);
    expect([runner.starts.length, one.record.digest]).toEqual([2, 'd1']);
    expect(one.observed).toMatchObject(refused);
    expect(told).toEqual(['refused: bad rule', 'exit code 1']);
    runner.inPlace = () => true;
    await configure('d3');
    expect(one.observed).toMatchObject({ state: 'running', digest: 'd3', detail: null });
    expect(taken).toEqual(['d3']);
  });

  it('goes on unchanged until the rest for a new configuration is there', async () => {
    const { runner, one, configure, taken, told } = setUp();
    await one.launch();
    runner.inPlace = () => false;
    const answers = [new DriverError('the registry is down'), new DriverError('the registry is down'), null];
    const asked: string[] = [];
    runner.provide = async ({ digest }) => {
      asked.push(digest);
      const answer = answers.shift();
      if (answer) throw answer;
    };
    await configure('d2');
    await settle();
    const failed = { state: 'failed', permanent: false, detail: 'the registry is down', digest: 'd2' };
    expect(one.observed).toMatchObject({ ...failed, ends: { near: 'n' } });
    expect([runner.instances[0]!.stopped, taken]).toEqual([false, []]);
    await vi.advanceTimersByTimeAsync(250);
    expect(told).toEqual(['refused: the registry is down']);
    expect([runner.instances[0]!.stopped, runner.starts.length, one.observed.detail]).toEqual([
      ...[false, 1, 'the registry is down'],
    ]);
    await vi.advanceTimersByTimeAsync(500);
    expect(one.observed).toMatchObject({ state: 'running', digest: 'd2', detail: null });
    expect(runner.instances.map(({ stopped }) => stopped)).toEqual([true, false]);
    expect([asked, taken]).toEqual([['d2', 'd2', 'd2'], ['d2']]);
  });

  it('can be relinked, restarted and wanted otherwise while the rest is obtained', async () => {
    const { runner, one, configure, taken } = setUp();
    await one.launch();
    runner.inPlace = () => false;
    const answers = new Map<string, (failure: Error | null) => void>();
    runner.provide = ({ digest }) =>
      new Promise((resolve, reject) => {
        answers.set(digest, (failure) => (failure ? reject(failure) : resolve()));
      });
    await configure('d2');
    expect(one.observed).toMatchObject({ state: 'starting', digest: 'd2', ends: { near: 'n' } });
    let turns = 0;
    await one.inTurn(async () => void turns++);
    expect(turns).toBe(1);
    runner.instances[0]!.end({ how: 'exit code 1' });
    await vi.advanceTimersByTimeAsync(250);
    expect([one.running, one.record.digest]).toEqual([runner.instances[1], 'd1']);

    await configure('d3');
    answers.get('d2')!(new DriverError('given up'));
    await settle();
    expect(one.observed).toMatchObject({ state: 'starting', digest: 'd3', detail: null });
    answers.get('d3')!(null);
    await settle();
    expect(one.observed).toMatchObject({ state: 'running', digest: 'd3' });
    expect([runner.starts.length, taken]).toEqual([3, ['d3']]);

    await configure('d4');
    await one.destruct();
    answers.get('d4')!(null);
    await settle();
    expect([runner.starts.length, one.observed.state]).toEqual([3, 'stopping']);
  });

  it('refuses a new configuration for which the rest can never be had', async () => {
    const { runner, one, configure, told } = setUp();
    await one.launch();
    runner.inPlace = () => false;
    runner.provide = async () => {
      throw new DriverError('the image is for another processor', null, true);
    };
    await configure('d2');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(one.observed).toMatchObject({ state: 'failed', permanent: true, ends: { near: 'n' } });
    expect([one.running, told]).toEqual([runner.instances[0], ['refused: the image is for another processor']]);
  });

  it('retries a configuration that could not be applied', async () => {
    const { runner, one, configure } = setUp();
    await one.launch();
    const answers = [false, true];
    runner.inPlace = () => {
      if (answers.shift()) return true;
      throw new DriverError('busy');
    };
    await configure('d2');
    expect(one.observed).toMatchObject({ state: 'failed', detail: 'busy', ends: { near: 'n' } });
    await vi.advanceTimersByTimeAsync(250);
    expect(one.observed).toMatchObject({ state: 'running', digest: 'd2', detail: null });
    expect(runner.starts.length).toBe(1);
  });

  it('starts with the newest configuration requested during its start', async () => {
    const { one, configure, taken } = setUp();
    void one.launch();
    void configure('d2');
    await configure('d3');
    expect(one.observed).toMatchObject({ state: 'running', digest: 'd3' });
    expect(taken).not.toContain('d2');
  });

  it('retries its removal until it succeeds', async () => {
    const { runner, one, gone } = setUp();
    await one.launch();
    runner.failures = [new DriverError('busy'), new DriverError('busy still')];
    await expect(one.destruct()).rejects.toThrow('busy');
    expect(one.observed).toMatchObject({ state: 'stopping', digest: '', detail: 'busy' });
    expect(gone()).toBe(0);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([runner.clears, gone(), runner.starts.length]).toEqual([3, 1, 1]);
  });

  it('can be wanted again, before its removal and after a failed removal', async () => {
    const { runner, one, configure, gone } = setUp();
    await one.launch();
    const first = one.destruct();
    await configure('d2');
    await first;
    expect([runner.clears, runner.starts.length]).toEqual([0, 1]);
    expect(one.observed).toMatchObject({ state: 'running', digest: 'd2' });

    runner.failures = [new DriverError('busy')];
    await expect(one.destruct()).rejects.toThrow('busy');
    await configure('d1');
    expect(one.observed).toMatchObject({ state: 'running', digest: 'd1' });
    await vi.advanceTimersByTimeAsync(60_000);
    expect([runner.clears, gone()]).toEqual([1, 0]);
    await one.destruct();
    expect([runner.clears, gone()]).toEqual([2, 1]);
  });

  it('starts nothing after its release', async () => {
    const { runner, one } = setUp();
    await one.launch();
    one.release();
    runner.instances[0]!.end({ how: 'exit code 1' });
    await vi.advanceTimersByTimeAsync(60_000);
    expect([runner.starts.length, runner.instances[0]!.released]).toEqual([1, true]);
  });
});
