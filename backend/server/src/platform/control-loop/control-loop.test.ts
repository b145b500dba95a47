import { expect, it } from 'vitest';
import { FakeClock, settle } from '../../testing/fake-clock.js';
import type { Log } from '../log.js';
import { unavailable } from '../problem.js';
import { ControlLoops } from './control-loops.js';
import type { LoopDefinition, LoopRun, RunOutcome, TakenDecision } from './definition.js';

const log = { warn: () => undefined, error: () => undefined } as unknown as Log;

function bench(run: (run: LoopRun) => Promise<RunOutcome | undefined>, more: Partial<LoopDefinition> = {}) {
  const clock = new FakeClock();
  const loops = new ControlLoops(log, clock);
  const told: TakenDecision[] = [];
  loops.onDecision((decision) => told.push(decision));
  const definition: LoopDefinition = {
    id: 'test',
    title: 'Test',
    purpose: 'Tests.',
    tickMs: null,
    backoff: { firstMs: 100, mostMs: 1000 },
    deadlineMs: 5000,
    run,
    ...more,
  };
  return { clock, loops, loop: loops.add(definition), told, status: () => loops.status('test')! };
}

/** Work that ends on demand. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

it('runs a woken key, once more for any number of wake-ups during the run, and other keys concurrently', async () => {
  const begun: string[] = [];
  const gates = new Map([
    ['a', gate()],
    ['b', gate()],
  ]);
  const { loop } = bench(async ({ key }) => {
    begun.push(key);
    await gates.get(key)!.opened;
    return undefined;
  });
  loop.wake('a');
  loop.wake('b');
  for (let n = 0; n < 5; n++) loop.wake('a');
  await settle();
  expect(begun).toEqual(['a', 'b']);
  gates.get('a')!.open();
  await settle();
  expect(begun).toEqual(['a', 'b', 'a']);
});

it('ticks, and reruns when the run requests it', async () => {
  const ranAtMs: number[] = [];
  let clock: FakeClock | null = null;
  const made = bench(
    async () => {
      ranAtMs.push(clock!.elapsedMs());
      return ranAtMs.length === 2 ? { again: 50 } : undefined;
    },
    { tickMs: 500 },
  );
  clock = made.clock;
  made.loop.wake();
  await clock.pass(1100);
  expect(ranAtMs).toEqual([0, 500, 550, 1050]);
});

it('forgets a key that is done', async () => {
  const { loop } = bench(async () => ({ again: 'done' }));
  loop.wake('a');
  await settle();
  expect(loop.keys).toEqual([]);
});

it('backs off up to the cap, whatever wakes it, and resets once a run succeeds', async () => {
  const ranAtMs: number[] = [];
  let clock: FakeClock | null = null;
  const { loop, status, ...made } = bench(async () => {
    ranAtMs.push(clock!.elapsedMs());
    if (ranAtMs.length <= 6) throw unavailable('away');
    return undefined;
  });
  clock = made.clock;
  loop.wake();
  for (let n = 0; n < 350; n++) {
    await clock.pass(10);
    if (ranAtMs.length <= 6) loop.wake();
  }
  expect(ranAtMs.slice(0, 7)).toEqual([0, 100, 300, 700, 1500, 2500, 3500]);
  expect(status()).toMatchObject({ failures: 0, lastError: null });
  loop.wake();
  await settle();
  expect(ranAtMs.at(-1)).toBe(clock.elapsedMs());
});

it('ends a back-off early if it is woken and the cause is gone', async () => {
  const ranAtMs: number[] = [];
  const away = new Set(['a', 'b']);
  const { clock, loop } = bench(
    async ({ key }) => {
      if (key === 'a') ranAtMs.push(clock.elapsedMs());
      if (away.has(key)) throw unavailable('away');
      return undefined;
    },
    { recovered: (key) => !away.has(key) },
  );
  loop.wake('a');
  loop.wake('b');
  await clock.pass(750);
  expect(ranAtMs).toEqual([0, 100, 300, 700]);
  away.delete('a');
  await clock.pass(10);
  loop.wake('b');
  loop.wake('a');
  await clock.pass(39);
  expect(ranAtMs).toHaveLength(4);
  await clock.pass(1);
  expect(ranAtMs).toEqual([0, 100, 300, 700, 800]);
});

it('runs no more often than the first delay while it fails, however often it is woken', async () => {
  const ranAtMs: number[] = [];
  const { clock, loop } = bench(
    async () => {
      ranAtMs.push(clock.elapsedMs());
      throw unavailable('away');
    },
    { recovered: () => true },
  );
  for (let n = 0; n < 350; n++) {
    loop.wake();
    await clock.pass(1);
  }
  expect(ranAtMs).toEqual([0, 100, 200, 300]);
});

it('ends a back-off early for what woke the key while the run failed', async () => {
  const ranAtMs: number[] = [];
  const { clock, loop } = bench(
    async () => {
      ranAtMs.push(clock.elapsedMs());
      if (ranAtMs.length === 4) return { again: 'done' };
      loop.wake();
      throw unavailable('away');
    },
    { recovered: () => ranAtMs.length === 3 },
  );
  loop.wake();
  await clock.pass(401);
  expect(ranAtMs).toEqual([0, 100, 300, 400]);
  await loop.stop();
});

it('cancels a run with a hanging step at the deadline, and continues', async () => {
  const signals: AbortSignal[] = [];
  const { clock, loop, status } = bench(async ({ signal, step }) => {
    signals.push(signal);
    if (signals.length === 1) await step(new Promise(() => undefined));
    return undefined;
  });
  loop.wake();
  await clock.pass(4999);
  expect(status()).toMatchObject({ atWork: [''], failures: 0 });
  await clock.pass(1);
  expect(signals[0]!.aborted).toBe(true);
  expect(status()).toMatchObject({ atWork: [], failures: 1, lastError: 'took longer than 5 s' });
  await clock.pass(100);
  expect(signals).toHaveLength(2);
  expect(status()).toMatchObject({ failures: 0 });
});

it('begins the deadline anew once what a run has waited for comes, and never after the run', async () => {
  const { open, opened } = gate();
  const resumes: (() => void)[] = [];
  const { clock, loop, status } = bench(async ({ step, holdDeadline }) => {
    resumes.push(holdDeadline());
    if (resumes.length > 1) return undefined;
    await step(opened);
    resumes[0]!();
    await step(new Promise(() => undefined));
    return undefined;
  });
  loop.wake();
  await clock.pass(60_000);
  expect(status()).toMatchObject({ atWork: [''], failures: 0 });
  open();
  await clock.pass(4999);
  expect(status()).toMatchObject({ atWork: [''], failures: 0 });
  await clock.pass(1);
  expect(status()).toMatchObject({ atWork: [], failures: 1, lastError: 'took longer than 5 s' });
  await clock.pass(100);
  expect(resumes).toHaveLength(2);
  resumes[1]!();
  await clock.pass(60_000);
  expect(status()).toMatchObject({ atWork: [], failures: 0, lastError: null });
});

it('never runs a key twice at a time, not even when a run outlasts its deadline', async () => {
  const { open, opened } = gate();
  let runs = 0;
  const { clock, loop, told } = bench(async ({ decide }) => {
    runs++;
    await opened;
    decide({ subject: 's', what: 'too late', why: 'it was cancelled', inputs: {} });
    return undefined;
  });
  loop.wake();
  await clock.pass(60_000);
  loop.wake();
  await settle();
  expect(runs).toBe(1);
  open();
  await clock.pass(100);
  expect(runs).toBe(2);
  // Nothing is logged for a cancelled run.
  expect(told).toHaveLength(1);
});

it('does not run while it is paused, even if it is paused before it is added', async () => {
  let runs = 0;
  const { clock, loops, loop, status } = bench(
    async () => {
      runs++;
      return undefined;
    },
    { tickMs: 100 },
  );
  loop.wake();
  await clock.pass(50);
  loops.pause('test');
  loop.wake();
  await clock.pass(1000);
  expect(runs).toBe(1);
  expect(status()).toMatchObject({ paused: true, nextRunMs: null });
  loops.resume('test');
  await settle();
  expect(runs).toBe(2);
  loops.pause('later');
  const later = loops.add({ ...definitionOf('later'), run: async () => void runs++ as undefined });
  later.wake();
  await clock.pass(100);
  expect(loops.status('later')).toMatchObject({ paused: true, runs: 0 });
});

function definitionOf(id: string): Omit<LoopDefinition, 'run'> {
  return { id, title: id, purpose: '', tickMs: null, backoff: { firstMs: 1, mostMs: 1 }, deadlineMs: 1000 };
}

it('stops at any step, without waiting for hanging work, and never runs again', async () => {
  for (let stopAt = 0; stopAt <= 4; stopAt++) {
    const done: number[] = [];
    let runs = 0;
    const { clock, loop } = bench(async ({ step }) => {
      runs++;
      for (let n = 0; n < 4; n++) {
        await step(n === stopAt ? new Promise<void>(() => undefined) : Promise.resolve());
        done.push(n);
      }
      return undefined;
    });
    loop.wake();
    await settle();
    await loop.stop();
    expect(done).toEqual([0, 1, 2, 3].slice(0, stopAt));
    loop.wake();
    await clock.pass(10_000);
    expect(runs).toBe(1);
  }
});

it('uses monotonic time: a wall-clock jump moves no run, and the next run is shown in the new time', async () => {
  let runs = 0;
  const { clock, loop, status } = bench(
    async () => {
      runs++;
      return undefined;
    },
    { tickMs: 1000 },
  );
  loop.wake();
  await clock.pass(100);
  for (const jumpMs of [-86_400_000, 172_800_000]) {
    const before = runs;
    clock.wallMs += jumpMs;
    expect(status().nextRunMs! - clock.wallMs).toBeLessThanOrEqual(1000);
    await clock.pass(1000);
    expect(runs).toBe(before + 1);
  }
});

it('logs a decision that differs from the last one on its subject, and at most 30 per minute', async () => {
  const what = ['wait', 'wait', 'move', 'wait'];
  const { clock, loop, told, status } = bench(
    async ({ decide }) => {
      decide({ subject: 'a', what: what.shift() ?? `other ${told.length}.${status().runs}`, why: 'test', inputs: {} });
      decide({ subject: 'b', what: 'keep', why: 'test', inputs: {} });
      return undefined;
    },
    { tickMs: 100 },
  );
  loop.wake();
  await clock.pass(300);
  expect(told.map(({ subject, what: told }) => `${subject} ${told}`)).toEqual(['a wait', 'b keep', 'a move', 'a wait']);
  await clock.pass(20_000);
  expect(told).toHaveLength(30);
  expect(status().lastDecision).toMatchObject({ subject: 'b', what: 'keep' });
  await clock.pass(60_000);
  expect(told.some(({ suppressed }) => suppressed > 100)).toBe(true);
});

it('logs the same decision again for another reason', async () => {
  const reasons = ['a is away', 'a is away', 'b is away', 'b is away'];
  const { clock, loop, told } = bench(
    async ({ decide }) => {
      decide({ subject: 's', what: 'Wait', why: reasons.shift() ?? 'b is away', inputs: {} });
      return undefined;
    },
    { tickMs: 100 },
  );
  loop.wake();
  await clock.pass(500);
  expect(told.map(({ why }) => why)).toEqual(['a is away', 'b is away']);
  await loop.stop();
});

it('shows the error of the key that fails while others succeed', async () => {
  const { clock, loop, status } = bench(async ({ key }) => {
    if (key === 'a') throw unavailable('a is away');
    return undefined;
  });
  loop.wake('a');
  await settle();
  loop.wake('b');
  await clock.pass(10);
  expect(status()).toMatchObject({ failures: 1, lastError: 'a is away', runs: 2 });
});
