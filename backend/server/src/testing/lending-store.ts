import { mkdtempSync, rmSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, vi } from 'vitest';
import { configFrom } from '../platform/config.js';
import { makeLog } from '../platform/log.js';
import { Store } from '../platform/redis.js';
import { FakeAgents, FakeVnf, LendingBench } from './lending-bench.js';

export const ONE = 'ch-1.tunnel.0';
export const TWO = 'ch-1.tunnel.1';

/** Two saturated tunnels on one server. */
export function twoTunnels() {
  const agents = new FakeAgents();
  const one = new FakeVnf(ONE, 'server-1');
  const two = new FakeVnf(TWO, 'server-1');
  agents.add(one, two);
  return { agents, one, two };
}

/** A store for the tests of a file, empty at the start of each. The monotonic clock stands still until it is advanced. */
export function lendingStore() {
  let folder: string;
  let store: Store;
  beforeAll(async () => {
    folder = mkdtempSync('/tmp/orrery-l-');
    store = await Store.open(configFrom({ ORRERY_RUN_DIR: folder, ORRERY_STATE_DIR: folder }), makeLog('silent'));
  });
  afterAll(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    await store.redis.flushall();
    vi.useFakeTimers({ toFake: ['performance'] });
  });
  afterEach(() => void vi.useRealTimers());

  const advance = (ms: number) => void vi.advanceTimersByTime(ms);
  /** What is done to it, as by a kill, leaves the store itself alone. */
  const own = () => Object.create(store) as Store;
  return {
    get redis() {
      return store.redis;
    },
    advance,
    own,
    /** A server process on the store. */
    start: (agents: FakeAgents, its: Store = own()) => LendingBench.start(its, agents, advance),
  };
}
