import type { QueryClient } from '@tanstack/react-query';
import { createStore } from 'zustand';
import { API, call } from '../api/client.js';
import { queryKeysOf } from '../api/invalidation.js';
import { sessionStore } from '../api/session.js';
import { LiveStore } from './live-store.js';
import { type Socket, StreamClient, type StreamStatus } from './stream-client.js';

/** Several events in a burst cost one refetch of a resource. */
const INVALIDATE_AFTER_MS = 80;

export const live = new LiveStore();

function openSocket(): Socket {
  const url = new URL(`${API}/stream`, window.location.href);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return new WebSocket(url) as unknown as Socket;
}

let queries: QueryClient | null = null;
const stale = new Set<string>();
let invalidation: ReturnType<typeof setTimeout> | null = null;

function invalidate(keys: readonly string[]): void {
  for (const key of keys) stale.add(key);
  if (invalidation || stale.size === 0) return;
  invalidation = setTimeout(() => {
    invalidation = null;
    for (const key of stale) void queries?.invalidateQueries({ queryKey: [key] });
    stale.clear();
  }, INVALIDATE_AFTER_MS);
}

const client = new StreamClient(
  {
    open: openSocket,
    now: () => Date.now(),
    random: () => Math.random(),
    after: (ms, run) => {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
  },
  {
    status: (status) => {
      const before = streamStore.getState().state;
      streamStore.setState(status);
      // Changes during an interruption may have no event (e.g. after a server restart).
      if (status.state === 'connected' && before === 'reconnecting') void queries?.invalidateQueries();
    },
    event: (event) => {
      live.addEvent(event);
      invalidate(queryKeysOf(event.type));
    },
    samples: (samples, links, slos) => {
      live.addSamples(samples);
      live.addLinks(links);
      live.addSlos(slos);
    },
    reset: () => {
      live.clear();
      void queries?.invalidateQueries();
    },
    refused: () => void askWhy(),
  },
);

/** Between attempts, where the server refuses the stream and yet knows the session. */
const REFUSED_AGAIN_MS = 5000;

/** Where the server knows no such session, the answer to any call says why, and ends it here. */
async function askWhy(): Promise<void> {
  const token = sessionStore.getState().session?.token;
  await call('getSession', {}).catch(() => undefined);
  setTimeout(() => {
    if (token === undefined || sessionStore.getState().session?.token !== token) return;
    client.start(token);
    void queries?.invalidateQueries();
  }, REFUSED_AGAIN_MS);
}

export const streamStore = createStore<StreamStatus>(() => client.status);

/** Follows the session: connects on sign-in, disconnects and clears on sign-out. Call once. */
export function startStream(queryClient: QueryClient): void {
  queries = queryClient;
  const follow = () => {
    const token = sessionStore.getState().session?.token;
    if (token) {
      client.start(token);
      return;
    }
    client.stop();
    live.clear();
    queryClient.clear();
  };
  sessionStore.subscribe(follow);
  window.addEventListener('online', () => client.retryNow());
  // A server on this machine may still be there: a new connection tells.
  window.addEventListener('offline', () => client.renew());
  follow();
}

export const reconnectNow = () => client.retryNow();

const wanted = new Map<string, number>();

/** Asks for the samples under these key prefixes until the returned function is called. Equal requests are reference-counted. */
export function wantSamples(prefixes: readonly string[]): () => void {
  for (const prefix of prefixes) wanted.set(prefix, (wanted.get(prefix) ?? 0) + 1);
  announce();
  return () => {
    for (const prefix of prefixes) {
      const left = (wanted.get(prefix) ?? 1) - 1;
      if (left > 0) wanted.set(prefix, left);
      else wanted.delete(prefix);
    }
    announce();
  };
}

let announced = '';
let announcing = false;
function announce(): void {
  if (announcing) return;
  announcing = true;
  queueMicrotask(() => {
    announcing = false;
    const all = [...wanted.keys()].sort();
    // A prefix inside another one adds nothing.
    const prefixes = all.filter((prefix) => !all.some((other) => other !== prefix && prefix.startsWith(other)));
    const text = prefixes.join('\n');
    if (text === announced) return;
    announced = text;
    client.subscribe(prefixes);
  });
}
