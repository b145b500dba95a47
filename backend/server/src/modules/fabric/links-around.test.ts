import type { LinkSample, ObservedSwitch } from '@orrery/contract';
import { afterEach, expect, it, vi } from 'vitest';
import type { Collections } from '../../platform/durable-collection/collections.js';
import type { InfrastructureStore } from '../../ports/infrastructure-store.js';
import type { SwitchFleet } from '../../ports/switch-fleet.js';
import type { Telemetry } from '../../ports/telemetry.js';
import { LinksAround } from './links-around.js';

afterEach(() => vi.restoreAllMocks());

/** Two switches and the link between them. `stored` outlives a server. */
function site(stored = new Map<string, { link: string; by: string[] }>(), twin = { enabled: true }) {
  let nowMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const link = { id: 'l', a: { node: 's1', port: 'p' }, b: { node: 's2', port: 'p' } };
  const infrastructure = { switches: [{ id: 's1' }, { id: 's2' }, { id: 's3' }], links: [link] };
  const seen = new Map<string, boolean>();
  let take: (links: LinkSample[]) => void = () => undefined;
  const told: (() => void)[] = [];
  const fleet = {
    isConnected: (id: string) => seen.has(id),
    observedSwitch: (id: string) =>
      ({ ports: [{ name: 'p', number: 1, up: seen.get(id) }] }) as unknown as ObservedSwitch,
    onChange: (listener: () => void) => told.push(listener),
  };
  const telemetry = {
    onSamples: (listener: (samples: [], links: LinkSample[]) => void) => {
      take = (links) => listener([], links);
    },
  };
  const batch = {
    put: (_: unknown, value: { link: string; by: string[] }) => void stored.set(value.link, value),
    remove: (_: unknown, id: string) => stored.delete(id),
  };
  const collections = {
    open: () => ({
      load: async () => undefined,
      all: () => [...stored.values()],
      find: (id: string) => stored.get(id),
    }),
    commit: async (work: (given: typeof batch) => unknown) => work(batch),
  };
  const onChange = (listener: () => void) => told.push(listener);
  const around = new LinksAround(
    { current: { infrastructure }, onChange } as unknown as InfrastructureStore,
    fleet as unknown as SwitchFleet,
    telemetry as unknown as Telemetry,
    twin,
    collections as unknown as Collections,
  );
  around.onApplicationBootstrap();
  return {
    stored,
    start: () => around.onModuleInit(),
    /** Another end of the link. */
    move(node: string): void {
      link.b = { node, port: 'p' };
      for (const listener of told) listener();
    },
    /** The twin tells each second whether the link is up; null: nothing. Whether packets go around it then. */
    after(seconds: number, up: boolean | null): boolean {
      for (let i = 0; i < seconds; i++) {
        nowMs += 1000;
        take(up === null ? [] : [{ link_id: 'l', up } as LinkSample]);
      }
      return around.avoided.has('l');
    },
    /** Each second packets over the switches arrive, or all of them are lost. Whether packets go around the link then. */
    pass(seconds: number, passage: Record<string, boolean>): boolean {
      for (let i = 0; i < seconds; i++) {
        nowMs += 1000;
        around.tellPassage(new Map(Object.entries(passage)));
      }
      return around.avoided.has('l');
    },
    lost: () => [...around.lostSwitches],
    /** A switch tells; null: its agent is away. */
    tell(id: string, up: boolean | null): void {
      if (up === null) seen.delete(id);
      else seen.set(id, up);
      for (const listener of told) listener();
    },
  };
}

it('packets go around a link that was told to be down until it has been told to be up for 5 s, whoever falls silent', () => {
  const { after } = site();
  expect(after(1, true)).toBe(false);
  expect(after(1, false)).toBe(true);
  expect(after(60, null)).toBe(true);
  expect(after(5, true)).toBe(true);
  expect(after(1, true)).toBe(false);
});

it('silence ends the time for which a link has been up', () => {
  const { after } = site();
  after(1, false);
  expect(after(4, true)).toBe(true);
  expect(after(10, null)).toBe(true);
  expect(after(5, true)).toBe(true);
  expect(after(1, true)).toBe(false);
});

it('a switch that told of a link that is down has to tell that it is up, though the twin does', () => {
  const { after, tell } = site();
  after(1, true);
  tell('s2', false);
  tell('s2', null);
  expect(after(30, true)).toBe(true);
  tell('s2', true);
  expect(after(4, true)).toBe(true);
  expect(after(2, true)).toBe(false);
});

it('packets go around a switch that for 5 s is silent while none arrives over it, until it answers for 5 s', () => {
  const { pass, tell, lost } = site();
  for (const id of ['s1', 's2']) tell(id, true);
  expect(pass(20, { s1: false })).toBe(false);
  tell('s1', null);
  expect(pass(20, { s1: true })).toBe(false);
  expect(pass(20, {})).toBe(false);
  expect(pass(5, { s1: false, s2: false })).toBe(false);
  expect(pass(1, { s1: false, s2: false })).toBe(true);
  expect(lost()).toEqual(['s1']);
  expect(pass(60, {})).toBe(true);
  tell('s1', true);
  expect(pass(4, {})).toBe(true);
  expect(pass(1, {})).toBe(false);
});

it('a silent switch over which packets arrive again is used again, and what was said of packets long ago counts no more', () => {
  const { pass, after, tell } = site();
  tell('s2', true);
  pass(4, { s1: false });
  after(10, true);
  expect(pass(5, { s1: false })).toBe(false);
  expect(pass(1, { s1: false })).toBe(true);
  expect(pass(5, { s1: true })).toBe(true);
  expect(pass(1, { s1: true })).toBe(false);
});

it('the next server waits for who told an earlier one that a link is down', async () => {
  const first = site();
  first.after(1, true);
  first.tell('s1', false);
  expect([...first.stored.values()]).toEqual([{ link: 'l', by: ['s1 p'] }]);
  const { after, tell, stored, start } = site(first.stored);
  await start();
  tell('s2', true);
  expect(after(30, true)).toBe(true);
  tell('s1', true);
  expect(after(4, true)).toBe(true);
  expect(after(2, true)).toBe(false);
  await expect.poll(() => stored.size).toBe(0);
});

it('who is not there any more is not waited for: a switch that is no end of the link, the twin of a site without one', async () => {
  const { after, tell, move } = site();
  tell('s2', false);
  tell('s2', null);
  expect(after(30, true)).toBe(true);
  move('s3');
  expect(after(1, true)).toBe(false);
  const real = site(new Map([['l', { link: 'l', by: ['twin'] }]]), { enabled: false });
  await real.start();
  expect(real.after(1, null)).toBe(false);
});
