import type { ChainDefinition, EventDraft, SloStatus } from '@orrery/contract';
import { expect, it } from 'vitest';
import { Collections } from '../../../platform/durable-collection/collections.js';
import type { Log } from '../../../platform/log.js';
import type { Store } from '../../../platform/redis.js';
import { KEYS } from '../../../platform/redis-keys.js';
import { settle } from '../../../testing/fake-clock.js';
import { type LedgerRecord, ledgerId, SloLedgers } from './slo-ledgers.js';

const DAY_S = 86_400;
const log = { warn: () => undefined, error: () => undefined } as unknown as Log;

/** Ledgers whose records are kept in memory. */
function ledgersOf(told: EventDraft[]): SloLedgers {
  const entries = new Map<string, LedgerRecord>();
  const records = {
    all: () => [...entries.values()],
    get size() {
      return entries.size;
    },
  };
  const batch = {
    put: (_: unknown, record: LedgerRecord) => void entries.set(ledgerId(record), record),
    also: () => undefined,
    onStored: (apply: () => void) => apply(),
  };
  const collections = { open: () => records, commit: async (work: (of: typeof batch) => void) => work(batch) };
  const events = { append: (draft: EventDraft) => void told.push(draft), appendIn: () => undefined };
  return new SloLedgers(collections as never, {} as never, events, log);
}

it('counts so many objectives as their histories have room for, and tells once of the others', async () => {
  const told: EventDraft[] = [];
  const ledgers = ledgersOf(told);
  const slos = Array.from({ length: 771 }, (_, n) => ({
    ...{ id: `s${n}`, kind: 'latency', percentile: 99, max_us: 1000 },
    period_s: n === 770 ? 30 * DAY_S : 90 * DAY_S,
  }));
  const tick = async (t_ms: number, of = slos) => {
    const definition = { slos: of, class_slos: [] } as unknown as ChainDefinition;
    const statuses = of.map(({ id }) => ({ chain_id: 'ch-1', slo_id: id, kind: 'latency', target: 1000, measured: 9 }));
    const state = { state: 'met', budget: null };
    const all = statuses.map((status) => ({ ...status, ...state }) as SloStatus);
    const counted = ledgers.countSeconds(all, () => definition, t_ms, t_ms);
    await settle();
    return counted.flatMap(({ slo_id, budget }) => (budget === null ? [slo_id] : []));
  };
  await tick(1_700_000_000_000);
  // Those of 90 days leave room for one of 30 days.
  expect(await tick(1_700_000_001_000)).toEqual(['s769']);
  expect(ledgers.uncountedNumber).toBe(1);
  expect(told).toMatchObject([{ type: 'slo.uncounted', subject: 'ch-1', data: { slo_id: 's769' } }]);
  const longer = slos.map((slo) => ({ ...slo, period_s: 90 * DAY_S }));
  expect(await tick(1_700_000_002_000, longer)).toEqual(['s769', 's770']);
  expect(ledgers.uncountedNumber).toBe(2);
  const others = longer.map((slo, n) => ({ ...slo, period_s: (n < 2 ? 7 : 90) * DAY_S }));
  await tick(1_700_000_003_000, others);
  expect(await tick(1_700_000_004_000, others)).toEqual([]);
  expect(ledgers.uncountedNumber).toBe(0);
  expect(told).toHaveLength(1);
});

/** A store in memory. `hold`: its next reply waits until the function that is given is called. */
function heldStore() {
  const hashes = new Map<string, Map<string, string>>();
  let held: Promise<void> | null = null;
  const set = (key: string, entries: Iterable<[string, string]>) =>
    void hashes.set(key, new Map([...(hashes.get(key) ?? []), ...entries]));
  const transaction = {
    hset: (key: string, first: string | object, ...rest: string[]) => {
      if (first instanceof Map) set(key, first as Map<string, string>);
      else if (typeof first === 'object') set(key, Object.entries(first) as [string, string][]);
      else set(key, [[first, rest.join()]]);
    },
    hdel: (key: string, ...fields: string[]) => fields.forEach((field) => void hashes.get(key)?.delete(field)),
    del: (key: string) => hashes.delete(key),
  };
  const transact = async (fill: (of: typeof transaction) => void) => {
    const reply = held;
    held = null;
    fill(transaction);
    await reply;
    return [];
  };
  const redis = { hgetall: async (key: string) => Object.fromEntries(hashes.get(key) ?? []) };
  const hold = () => {
    let letGo: () => void = () => undefined;
    held = new Promise((resolve) => {
      letGo = resolve;
    });
    return () => letGo();
  };
  return { hashes, hold, store: { redis, transact } as unknown as Store };
}

it.each(['counted anew', 'removed'])('no seconds are stored of an objective that is being %s', async (what) => {
  const { hashes, hold, store } = heldStore();
  const events = { append: () => undefined, appendIn: () => undefined };
  const ledgers = new SloLedgers(new Collections(store, log), store, events, log);
  const startMs = 1_700_000_000_000;
  const count = async (second: number, max_us: number) => {
    const slo = { id: 'fast', kind: 'latency', percentile: 99, max_us };
    const status = { chain_id: 'ch-1', slo_id: 'fast', kind: 'latency', target: max_us, measured: 9 };
    const definition = { slos: [slo], class_slos: [] } as unknown as ChainDefinition;
    const all = [{ ...status, state: 'violated', budget: null } as unknown as SloStatus];
    ledgers.countSeconds(all, () => definition, startMs + second * 1000, second * 1000);
    await settle();
  };
  const stored = () => hashes.get(KEYS.sloHistory('ch-1', 'fast'))?.size ?? 0;
  for (const second of [0, 1, 2]) await count(second, 5);
  await ledgers.flush(startMs + 2000, 2000);
  expect(stored()).toBeGreaterThan(0);
  await count(3, 5);
  const letGo = hold();
  const change = what === 'removed' ? ledgers.remove(ledgers.of('ch-1')) : count(4, 7);
  await settle();
  const flushed = ledgers.flush(startMs + 4000, 4000);
  await settle();
  letGo();
  await Promise.all([change, flushed]);
  expect(stored()).toBe(0);
});
