import type { Session, StreamServerMessage } from '@orrery/contract';
import { QueryClient } from '@tanstack/react-query';
import { afterEach, expect, it, vi } from 'vitest';

class FakeSocket {
  readonly sent: Record<string, unknown>[] = [];
  onopen: (() => void) | null = null;
  onclose: (() => void) | null = null;
  onmessage: ((message: { data: unknown }) => void) | null = null;
  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }
  close(): void {}
  receive(message: StreamServerMessage): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
  refuse(): void {
    this.onopen?.();
    this.receive({ type: 'refused', detail: 'too many streams' });
  }
  accept(): void {
    this.onopen?.();
    this.receive({ type: 'ready', at: '5-0', server_version: '0.1.0' });
  }
}

const AGAIN_MS = 5000;
const KNOWN = { ok: true, status: 204, headers: new Headers() };
const UNKNOWN = {
  ok: false,
  status: 401,
  headers: new Headers(),
  json: async () => ({ type: 'about:blank', title: 'No valid session', status: 401, errors: [] }),
};
const session = (token: string): Session => ({ token, name: 'ann', role: 'admin', expires_ms: 9e15 });
const later = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** A window in which somebody has just signed in, and whose questions for its session get the answer. */
async function signedIn(answer: () => unknown) {
  vi.resetModules();
  const { signIn, signOut, sessionStore } = await import('../api/session.js');
  const { startStream, streamStore } = await import('./stream.js');
  vi.useFakeTimers();
  const sockets: FakeSocket[] = [];
  vi.stubGlobal(
    'WebSocket',
    class extends FakeSocket {
      constructor() {
        super();
        sockets.push(this);
      }
    },
  );
  /** What was asked, by which token. */
  const asked: string[][] = [];
  vi.stubGlobal('fetch', async ({ pathname }: URL, { headers }: { headers: Headers }) => {
    asked.push([pathname, headers.get('authorization')!]);
    return answer();
  });
  const queries = new QueryClient();
  const readAnew = vi.spyOn(queries, 'invalidateQueries');
  signIn(session('t-1'));
  startStream(queries);
  const state = () => streamStore.getState().state;
  return { sockets, last: () => sockets.at(-1)!, asked, readAnew, signIn, signOut, sessionStore, state };
}

afterEach(() => {
  vi.clearAllTimers();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  localStorage.clear();
});

it('asks why its stream is refused, and tries again every 5 s, once, while the server knows the session', async () => {
  const { sockets, last, asked, readAnew, state } = await signedIn(() => KNOWN);
  for (let n = 1; n <= 4; n++) {
    last().refuse();
    expect(state()).toBe('refused');
    await later(0);
    expect(asked).toEqual(Array.from({ length: n }, () => ['/api/v1/sessions/current', 'Bearer t-1']));
    expect(vi.getTimerCount()).toBe(1);
    await later(AGAIN_MS - 1);
    expect(sockets).toHaveLength(n);
    await later(1);
    expect(sockets).toHaveLength(n + 1);
    expect(readAnew).toHaveBeenCalledTimes(n);
  }
  last().accept();
  expect(last().sent[0]).toEqual({ type: 'authenticate', token: 't-1' });
  expect(state()).toBe('connected');
  await later(2000);
  expect([sockets.length, asked.length, state()]).toEqual([5, 4, 'connected']);
});

it('tries again also where the question gets no answer', async () => {
  const { sockets, last } = await signedIn(() => {
    throw new TypeError('fetch failed');
  });
  last().refuse();
  await later(AGAIN_MS);
  expect(sockets).toHaveLength(2);
});

it('ends the session, and tries no more, where the server does not know it', async () => {
  const { sockets, last, sessionStore, state } = await signedIn(() => UNKNOWN);
  last().refuse();
  await later(0);
  expect(sessionStore.getState()).toMatchObject({ session: null, ended: 'unknown' });
  await later(10 * AGAIN_MS);
  expect([sockets.length, state(), vi.getTimerCount()]).toEqual([1, 'idle', 0]);
});

it('tries no more after a sign-out, before the answer or after it', async () => {
  for (const isAnswered of [true, false]) {
    let answer: (response: unknown) => void = () => undefined;
    const { sockets, last, signOut, state } = await signedIn(() => new Promise((resolve) => (answer = resolve)));
    last().refuse();
    if (isAnswered) answer(KNOWN);
    await later(AGAIN_MS / 2);
    signOut('t-1', 'left');
    answer(KNOWN);
    await later(10 * AGAIN_MS);
    expect([sockets.length, state(), vi.getTimerCount()]).toEqual([1, 'idle', 0]);
    vi.useRealTimers();
  }
});

it('leaves the stream of another sign-in alone, whatever becomes of the first one', async () => {
  for (const first of [KNOWN, UNKNOWN]) {
    let answer: (response: unknown) => void = () => undefined;
    const { sockets, last, readAnew, sessionStore, signIn, state } = await signedIn(
      () => new Promise((resolve) => (answer = resolve)),
    );
    last().refuse();
    await later(1000);
    signIn(session('t-2'));
    expect(sockets).toHaveLength(2);
    last().accept();
    expect(last().sent[0]).toEqual({ type: 'authenticate', token: 't-2' });
    answer(first);
    for (let n = 0; n < 5; n++) {
      await later(2000);
      last().receive({ type: 'alive' });
    }
    expect([sockets.length, state()]).toEqual([2, 'connected']);
    expect(sessionStore.getState()).toMatchObject({ session: { token: 't-2' } });
    expect(readAnew).not.toHaveBeenCalled();
    vi.clearAllTimers();
    vi.useRealTimers();
  }
});

it('asks for another session only once where its stream is refused, too', async () => {
  const { sockets, last, asked, signIn } = await signedIn(() => KNOWN);
  last().refuse();
  await later(AGAIN_MS / 2);
  signIn(session('t-2'));
  last().refuse();
  await later(AGAIN_MS - 1);
  expect(sockets).toHaveLength(2);
  await later(1);
  expect(sockets).toHaveLength(3);
  expect(asked.map(([, by]) => by)).toEqual(['Bearer t-1', 'Bearer t-2']);
});
