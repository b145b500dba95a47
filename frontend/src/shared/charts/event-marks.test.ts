import { type Event, isAbout, isMarked } from '@orrery/contract';
import { sampleKey } from '@orrery/contract/sample-keys';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clockText } from '../format/time.js';
import { partsOf } from './chart-parts.js';
import {
  EARLIER,
  knownSinceMs,
  markAt,
  markBeside,
  marksBetween,
  markText,
  textsAt,
  toldText,
  worstFirst,
} from './event-marks.js';

const event = (t_ms: number, severity: Event['severity'] = 'info', type: Event['type'] = 'operation.completed') =>
  ({ id: `${t_ms}-0`, t_ms, severity, type, message: '' }) as Event;

describe('marks of events on charts', () => {
  it('are warnings, errors, and what changes what is measured', () => {
    expect(isMarked(event(0, 'error', 'loop.decided'))).toBe(true);
    expect(isMarked(event(0, 'info', 'operation.completed'))).toBe(true);
    for (const type of ['nf.accelerated', 'scaling.out', 'healing.moved', 'split.handed-over'] as const)
      expect(isMarked(event(0, 'info', type))).toBe(true);
    // The NFs of a hand-over have events of their own.
    for (const type of ['loop.decided', 'lending.granted', 'lending.released'] as const)
      expect(isMarked(event(0, 'info', type))).toBe(false);
  });

  it('have every event of the time once, in marks that are apart, each as bad as its worst', () => {
    const times = fc.array(fc.record({ t: fc.integer({ min: 0, max: 100_000 }), bad: fc.boolean() }), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(times, fc.integer({ min: 1, max: 20 }), (given, near) => {
        const events = given.sort((a, b) => a.t - b.t).map(({ t, bad }) => event(t, bad ? 'error' : 'info'));
        const marks = marksBetween(events, 10, 90, near);
        const within = events.filter(({ t_ms }) => t_ms >= 10_000 && t_ms <= 90_000);
        expect(marks.flatMap((mark) => mark.events)).toEqual(within);
        for (const [index, { t_s, severity, events: own }] of marks.entries()) {
          const next = marks[index + 1];
          if (next) expect(next.t_s - t_s).toBeGreaterThanOrEqual(near);
          expect(severity === 'error').toBe(own.some((each) => each.severity === 'error'));
          expect(own.every(({ t_ms }) => t_ms / 1000 - t_s < near)).toBe(true);
        }
      }),
    );
  });

  it('show the worst first, of several the newest', () => {
    const [mark] = marksBetween(
      [event(1000), event(1200, 'error'), event(1400, 'warning'), event(1600, 'error')],
      0,
      9,
      5,
    );
    expect(worstFirst(mark!).map(({ t_ms }) => t_ms)).toEqual([1600, 1200, 1400, 1000]);
  });

  it('are told in words, the worst first, with the number of those that are left out', () => {
    const events = [1000, 2000, 3000, 4000, 5000, 6000].map((t_ms) => event(t_ms, t_ms === 2000 ? 'error' : 'info'));
    const [mark] = marksBetween(events, 0, 9, 9);
    const lines = toldText(mark!).split('; ');
    expect(lines).toHaveLength(5);
    expect(lines[0]).toBe(`${clockText(2000)} ${markText(events[1]!)}`);
    expect(lines.at(-1)).toBe('and 2 more');
    expect(toldText(marksBetween(events, 6, 9, 9)[0]!)).toBe(`${clockText(6000)} ${markText(events[5]!)}`);
  });

  it('are found at the pointer, the nearest first, and not from afar', () => {
    const marks = marksBetween([event(10_000), event(14_000)], 0, 100, 1);
    expect(markAt(marks, 13, 2)?.t_s).toBe(14);
    expect(markAt(marks, 11, 2)?.t_s).toBe(10);
    expect(markAt(marks, 20, 2)).toBeNull();
    expect(markAt([], 0, 100)).toBeNull();
  });

  it('are gone through by steps, from either end', () => {
    const marks = marksBetween([event(10_000), event(14_000), event(20_000)], 0, 100, 1);
    const through = (from: number | null, step: number) => markBeside(marks, from, step)?.t_s;
    expect([through(null, 1), through(null, -1)]).toEqual([10, 20]);
    expect([through(10, 1), through(14, 1), through(20, 1)]).toEqual([14, 20, 20]);
    expect([through(20, -1), through(10, -1), through(15, -1)]).toEqual([14, 10, 14]);
    expect(markBeside([], null, 1)).toBeNull();
  });

  it('stand in the row of the point before them, and in none where the chart begins later', () => {
    const told = [event(500), event(11_000), event(12_000), event(40_000)].map((each, n) => ({
      ...each,
      message: `m${n}`,
    }));
    expect(textsAt([1, 10, 20, 30], told)).toEqual(['', 'm1; m2', '', 'm3']);
    expect(textsAt([0.5, 10], told.slice(0, 1))).toEqual(['m0', '']);
    expect(textsAt([], told)).toEqual([]);
  });

  it('are about the parts of the chart, or the whole network', () => {
    const place = { id: 'web.ids.0', chain_id: 'ch-1', server: 'server-1', slot: { board: 'board-1', slot: 0 } };
    const other = { id: 'mail.fw.0', chain_id: 'ch-2', server: 'server-2', slot: null };
    const parts = partsOf([sampleKey('chain', 'ch-1', 'pps')], [place, other])!;
    expect(parts).toEqual(new Set(['ch-1', 'web.ids.0', 'server-1', 'board-1']));
    expect(partsOf([sampleKey('instance', 'mail.fw.0', 'pps')], [place, other])).toContain('ch-2');
    expect(partsOf([sampleKey('nf', 'web.ids', 'pps')], [place, other])).toContain('ch-1');
    expect(partsOf(['total/bps'], [place])).toBeNull();
    const about = (type: Event['type'], subject: string, data: object) =>
      isAbout({ ...event(0, 'info', type), subject, data } as Event, parts);
    expect(about('operation.started', 'op-1', { chain_id: 'pn-1', chains: ['ch-1'] })).toBe(true);
    expect(about('operation.started', 'op-1', { chain_id: 'ch-2', chains: ['ch-2'] })).toBe(false);
    expect(about('engine.ended', 'server-2', { node: 'server-2' })).toBe(false);
    expect(about('lending.granted', 'group-1', { instance: 'web.ids.0' })).toBe(true);
    expect(about('reconfiguration.started', 'rc-1', { moves: [{ chain_id: 'ch-1' }] })).toBe(true);
    expect(about('link.down', 'link-9', {})).toBe(true);
  });

  it('are about what ran elsewhere before, too', () => {
    const now = { id: 'web.ids.0-2', chain_id: 'ch-1', server: 'server-1', slot: null };
    for (const key of [sampleKey('chain', 'ch-1', 'pps'), sampleKey('instance', 'web.ids.0', 'pps')]) {
      const parts = partsOf([key], [now])!;
      const about = (type: Event['type'], subject: string, data: object) =>
        isAbout({ ...event(0, 'info', type), subject, data } as Event, parts);
      expect(about('healing.lost', 'server-3', { instances: ['web.ids.0'], chains: ['ch-1'] })).toBe(true);
      expect(about('healing.moved', 'server-3', { operation_id: 'op-1', chains: ['ch-1'] })).toBe(true);
      expect(about('healing.moved', 'server-3', { operation_id: 'op-1', chains: ['ch-2'] })).toBe(false);
      expect(about('engine.ended', 'server-3', { node: 'server-3', chains: ['ch-1'] })).toBe(true);
      expect(about('agent.killed', 'server-3', { chains: ['ch-2'] })).toBe(false);
      expect(about('nf.accelerated', 'web.ids.0', {})).toBe(true);
      expect(about('nf.accelerated', 'web.ids.0-3', {})).toBe(true);
      expect(about('nf.accelerated', 'web.ids.1-2', {})).toBe(false);
    }
  });

  it('are known since the log was read, as far as that joins what came in, and otherwise since that', () => {
    const none = { events: [], dropped_id: null, latest_id: null };
    const read = { edge_ms: 1000, about: undefined, items: [event(3000)], begins_ms: null, until_id: '4000-0' };
    expect(knownSinceMs(undefined, none, 9000)).toBe(9000);
    expect(knownSinceMs(undefined, { ...none, events: [event(7000)] }, 9000)).toBe(7000);
    expect(knownSinceMs(read, none, 9000)).toBe(1000);
    expect(knownSinceMs({ ...read, begins_ms: 2000 }, none, 9000)).toBe(2000);
    const full = Array.from({ length: EARLIER }, (_, n) => event(3000 - n));
    expect(knownSinceMs({ ...read, items: full }, none, 9000)).toBe(3001 - EARLIER);
    const live = { events: [event(6000)], dropped_id: '5000-0', latest_id: '6000-0' };
    expect(knownSinceMs(read, live, 9000)).toBe(6000);
    expect(knownSinceMs({ ...read, until_id: '5000-0' }, live, 9000)).toBe(1000);
    expect(knownSinceMs({ ...read, items: [event(5000)], until_id: null }, live, 9000)).toBe(1000);
  });
});
