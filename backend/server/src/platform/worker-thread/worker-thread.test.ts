import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { WorkerThread } from './worker-thread.js';

interface Job {
  readonly kind: 'echo' | 'fail' | 'exit' | 'throw' | 'spin' | 'native';
  readonly value?: string;
  /** Becomes 1 when `native` has ended. */
  readonly ended?: SharedArrayBuffer;
}

const file = fileURLToPath(new URL('../../testing/job-thread.mjs', import.meta.url));
const LIMIT_MS = 20_000;
let thread: WorkerThread<Job, string>;

function start(most_waiting: number, fresh = false): void {
  thread = new WorkerThread({ file, most_waiting, fresh, memory_mb: 64 });
}

afterEach(() => thread.stop());

describe.each([false, true])('jobs in a thread, each in a new one: %s', (fresh) => {
  it('run one after the other, in order of arrival', async () => {
    start(8, fresh);
    const done: string[] = [];
    const jobs = ['a', 'b', 'c'].map((value) =>
      thread.run({ kind: 'echo', value }, LIMIT_MS).then((it) => done.push(it)),
    );
    await Promise.all(jobs);
    expect(done).toEqual(['a', 'b', 'c']);
  });

  it.each([
    ['fail', 'told by the thread'],
    ['throw', 'thrown'],
    ['exit', 'the thread ended with 3'],
  ] as const)('that crash their thread (%s) fail alone', async (kind, value) => {
    start(8, fresh);
    const broken = thread.run({ kind, value }, LIMIT_MS);
    const next = thread.run({ kind: 'echo', value: 'next' }, LIMIT_MS);
    await expect(broken).rejects.toMatchObject({ kind: 'crashed', message: value });
    expect(await next).toBe('next');
  });

  it('that take too long are aborted, and the next one runs', async () => {
    start(8, fresh);
    const endless = thread.run({ kind: 'spin' }, 50);
    const next = thread.run({ kind: 'echo', value: 'next' }, LIMIT_MS);
    await expect(endless).rejects.toMatchObject({ kind: 'timeout' });
    expect(await next).toBe('next');
  });

  it('that take too long are told at their limit, though their thread needs long to end', async () => {
    start(8, fresh);
    const ended = new SharedArrayBuffer(4);
    await expect(thread.run({ kind: 'native', ended }, 50)).rejects.toMatchObject({ kind: 'timeout' });
    expect(Atomics.load(new Int32Array(ended), 0)).toBe(0);
    expect(await thread.run({ kind: 'echo', value: 'next' }, LIMIT_MS)).toBe('next');
  });

  it('are not run if nobody waits for them any more, and make room for others', async () => {
    start(1, fresh);
    const caller = new AbortController();
    const running = thread.run({ kind: 'echo', value: 'first' }, LIMIT_MS, 'normal', caller.signal);
    const given = thread.run({ kind: 'spin' }, LIMIT_MS, 'normal', caller.signal);
    caller.abort();
    const next = thread.run({ kind: 'echo', value: 'second' }, LIMIT_MS);
    await expect(given).rejects.toMatchObject({ kind: 'given-up' });
    await expect(thread.run({ kind: 'spin' }, LIMIT_MS, 'normal', caller.signal)).rejects.toMatchObject({
      kind: 'given-up',
    });
    expect(await Promise.all([running, next])).toEqual(['first', 'second']);
  });

  it('are refused if too many are waiting', async () => {
    start(1, fresh);
    const running = thread.run({ kind: 'echo', value: 'first' }, LIMIT_MS);
    const waiting = thread.run({ kind: 'echo', value: 'second' }, LIMIT_MS);
    await expect(thread.run({ kind: 'echo' }, LIMIT_MS)).rejects.toMatchObject({ kind: 'busy' });
    expect(await Promise.all([running, waiting])).toEqual(['first', 'second']);
  });

  it('fail immediately when the server stops, and none is accepted afterwards', async () => {
    start(8, fresh);
    const running = thread.run({ kind: 'spin' }, LIMIT_MS);
    const waiting = thread.run({ kind: 'echo' }, LIMIT_MS);
    await Promise.all([
      thread.stop(),
      expect(running).rejects.toMatchObject({ kind: 'stopped' }),
      expect(waiting).rejects.toMatchObject({ kind: 'stopped' }),
    ]);
    await expect(thread.run({ kind: 'echo' }, LIMIT_MS)).rejects.toMatchObject({ kind: 'stopped' });
  });
});
