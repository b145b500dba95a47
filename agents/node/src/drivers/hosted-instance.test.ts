import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { instance } from '../testing/specs.js';
import { type Body, type End, HostedInstance, type InstanceRecord, type Runner, recordOf } from './hosted-instance.js';
import { DriverError } from './nf-driver.js';

class FakeBody implements Body {
  readonly ends = { near: 'n', far: 'f' };
  end: (end: End) => void = () => undefined;
  readonly ended = new Promise<End>((resolve) => {
    this.end = resolve;
  });
  stopped = false;
  released = false;

  async stop() {
    this.stopped = true;
  }

  release() {
    this.released = true;
  }
}

/** Fails as often as it is told to; configures in place unless it is told otherwise. */
class FakeRunner implements Runner<FakeBody> {
  readonly bodies: FakeBody[] = [];
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
    this.bodies.push(new FakeBody());
    return this.bodies.at(-1)!;
  }

  async configure() {
    return this.inPlace();
  }

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
  const one = new HostedInstance(
    record('d1'),
    runner,
    () => undefined,
    (how) => told.push(how),
  );
  const remembered: string[] = [];
  const configure = (digest: string) => one.configure(record(digest), (taken) => remembered.push(taken.digest));
  return { runner, told, one, configure, remembered };
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

  it('runs behind its interfaces, which stay when it ends alone', async () => {
    const { runner, one, told } = setUp();
    expect(one.observed).toMatchObject({ state: 'starting', ends: null });
    await one.launch();
    expect(one.observed).toMatchObject({ state: 'running', detail: null, ends: { near: 'n', far: 'f' } });
    runner.bodies[0]!.end({ how: 'exit code 1' });
    await settle();
    expect(one.observed).toMatchObject({ state: 'failed', detail: 'exit code 1', ends: { near: 'n' } });
    expect(told).toEqual(['exit code 1']);
    await vi.advanceTimersByTimeAsync(250);
    expect(one.observed).toMatchObject({ state: 'running', ends: { near: 'n' } });
  });

  it('has no interfaces after an end that took them, until it runs again', async () => {
    const { runner, one } = setUp();
    await one.launch();
    runner.failures = [new DriverError('no')];
    runner.bodies[0]!.end({ how: 'gone', unlinked: true });
    await settle();
    expect(one.observed.ends).toBeNull();
    await vi.advanceTimersByTimeAsync(250);
    expect(one.observed).toMatchObject({ state: 'failed', detail: 'no', ends: null });
    await vi.advanceTimersByTimeAsync(500);
    expect(one.observed).toMatchObject({ state: 'running', ends: { near: 'n' } });
  });

  it('has no interfaces when a start that failed took them', async () => {
    const { runner, one } = setUp();
    await one.launch();
    runner.failures = [new DriverError('first'), new DriverError('second')];
    runner.bodies[0]!.end({ how: 'exit code 1' });
    await vi.advanceTimersByTimeAsync(250);
    expect(one.observed).toMatchObject({ detail: 'first', ends: { near: 'n' } });
    runner.isLinked = false;
    await vi.advanceTimersByTimeAsync(500);
    expect(one.observed).toMatchObject({ detail: 'second', ends: null });
  });

  it('tries again after growing pauses, tells of the same failure once, and begins anew after long runs', async () => {
    const { runner, one, told } = setUp();
    runner.failures = Array.from({ length: 8 }, () => new DriverError('Docker does not answer'));
    await one.launch();
    await vi.advanceTimersByTimeAsync(120_000);
    const pauses = runner.starts.slice(1).map((at, i) => at - runner.starts[i]!);
    expect(pauses).toEqual([250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000]);
    expect(told).toEqual(['Docker does not answer']);
    expect(one.restarts).toBe(8);
    runner.bodies[0]!.end({ how: 'exit code 1' });
    await vi.advanceTimersByTimeAsync(250);
    expect([runner.starts.length, one.restarts]).toEqual([10, 1]);
  });

  it('does not wait when it is told that things are better', async () => {
    const { runner, one } = setUp();
    runner.failures = [new DriverError('a'), new DriverError('b'), new DriverError('c')];
    for (let i = 0; i < 4; i++) await (i === 0 ? one.launch() : one.retry());
    expect(one.observed.state).toBe('running');
    await one.retry();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(runner.starts.length).toBe(4);
  });

  it('does not try again in vain, but with another configuration', async () => {
    const { runner, one, configure } = setUp();
    runner.failures = [new DriverError('bad rule', null, true)];
    await one.launch();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(runner.starts.length).toBe(1);
    expect(one.observed).toMatchObject({ state: 'failed', permanent: true, detail: 'bad rule' });
    await configure('d2');
    expect(one.observed).toMatchObject({ state: 'running', permanent: false, digest: 'd2' });
  });

  it('is configured while it runs, or starts again, or stays as it was', async () => {
    const { runner, one, configure, remembered } = setUp();
    await one.launch();
    await configure('d2');
    expect([runner.starts.length, one.observed.digest]).toEqual([1, 'd2']);
    runner.inPlace = () => {
      throw new DriverError('bad rule', 'p.a.0', true);
    };
    await expect(configure('d3')).rejects.toThrow('bad rule');
    expect([runner.starts.length, one.observed.digest, one.observed.state]).toEqual([1, 'd2', 'running']);
    runner.inPlace = () => false;
    await configure('d4');
    expect(runner.bodies.map(({ stopped }) => stopped)).toEqual([true, false]);
    expect([runner.starts.length, one.observed.digest]).toEqual([2, 'd4']);
    expect(remembered).toEqual(['d2', 'd4']);
  });

  it('can be taken back when it could not be taken away', async () => {
    const { runner, one, configure } = setUp();
    await one.launch();
    runner.failures = [new DriverError('Docker does not answer')];
    await expect(one.destruct()).rejects.toThrow('Docker does not answer');
    expect(one.observed).toMatchObject({ state: 'stopping', digest: '' });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(runner.starts.length).toBe(1);
    await configure('d1');
    expect(one.observed).toMatchObject({ state: 'running', digest: 'd1' });
    await one.destruct();
    expect(runner.clears).toBe(2);
  });

  it('starts nothing after it was let go', async () => {
    const { runner, one } = setUp();
    await one.launch();
    one.release();
    runner.bodies[0]!.end({ how: 'exit code 1' });
    await vi.advanceTimersByTimeAsync(60_000);
    expect([runner.starts.length, runner.bodies[0]!.released]).toEqual([1, true]);
  });
});
