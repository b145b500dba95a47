import { ScenarioFigure } from '@orrery/contract';
import { expect, it } from 'vitest';
import { type Change, figuresOf } from './figures.js';
import type { Observed } from './observe.js';

const EXPECTED = { frames: 100, denied: 40 };
const ARRIVED = Array.from({ length: 60 }, (_, n) => `udp ${n}`);
const ON_SERVERS: Observed = {
  sent: 100,
  arrived: ARRIVED,
  denied: 40,
  delivered: 60,
  toServer: { packets: 100, bytes: 70_000 },
  enginesCpu: 0.3,
  firstNfsUs: 2,
  switchCpu: 0.1,
  p50_us: 500,
  p99_us: 900,
  probes: { sent: 50, lost: 0 },
  busyShare: 0.93,
};
const ON_SWITCH: Observed = {
  ...ON_SERVERS,
  toServer: { packets: 60, bytes: 42_000 },
  enginesCpu: 0.2,
  firstNfsUs: null,
  switchCpu: 0.12,
};
const CHANGE: Change = {
  seconds: 1.5,
  probes: { sent: 70, lost: 1 },
  moved: 2,
  entries: { planned: 30, held: 30, nfs: 9 },
};

const figures = (onServers: Partial<Observed> = {}, onSwitch: Partial<Observed> = {}, change: Partial<Change> = {}) =>
  figuresOf({ ...ON_SERVERS, ...onServers }, { ...ON_SWITCH, ...onSwitch }, { ...CHANGE, ...change }, EXPECTED).map(
    (it) => ScenarioFigure.parse(it),
  );

/** Names of figures that are not within their bars. */
const misses = (all: ScenarioFigure[]) =>
  all.flatMap(({ name, here, bar }) => (bar && (here === null || here < bar.least! || here > bar.most!) ? [name] : []));

it('has nothing out of its bar when both forms do the same', () => {
  const all = figures();
  expect(misses(all)).toEqual([]);
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
  expect(all.every(({ published }) => published === null)).toBe(true);
});

it('tells what is saved and freed, and what the switch spends', () => {
  const all = figures();
  const here = (name: string) => all.find((each) => each.name === name)!.here;
  expect(here('Packets saved on the link')).toBe(40);
  expect(here('Bytes saved on the link')).toBe(28_000);
  expect(here('CPU of engines freed')).toBeCloseTo(10);
  expect(here('CPU of the process of the switch, more')).toBeCloseTo(2);
  expect(all.find(({ name }) => name === 'One-way latency, p50, all on servers')).toMatchObject({
    here: 500,
    note: expect.stringContaining('busy for 93 %'),
  });
});

it.each([
  ['a frame that is not denied', figures({}, { denied: 39 }), ['Frames denied, first on the switch']],
  [
    'a frame that is lost',
    figures({ arrived: ARRIVED.slice(1) }),
    ['Frames that arrive, all on servers', 'Frames that arrive in one form only'],
  ],
  [
    'a frame that is another',
    figures({}, { arrived: [...ARRIVED.slice(1), 'tcp'] }),
    ['Frames that arrive in one form only'],
  ],
  ['an NF that stays', figures({}, {}, { moved: 1 }), ['NFs that the switch runs']],
  [
    'denied frames that go to the server',
    figures({}, { toServer: { packets: 61, bytes: 1 } }),
    ['Packets saved on the link'],
  ],
  [
    'an entry that is missing',
    figures({}, {}, { entries: { planned: 30, held: 29, nfs: 9 } }),
    ['Entries of the switch used'],
  ],
])('misses its bar with %s', (_, all, expected) => {
  expect(misses(all)).toEqual(expected);
});

it('has no difference where one side was not measured, and says why', () => {
  const all = figures({ switchCpu: null, enginesCpu: null });
  const of = (name: string) => all.find((each) => each.name === name)!;
  expect(of('CPU of engines freed').here).toBeNull();
  expect(of('CPU of the process of the switch, more').here).toBeNull();
  expect(of('CPU of the process of the switch, all on servers').note).toContain('not visible');
});
