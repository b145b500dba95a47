import type { Plan } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import {
  amount,
  apart,
  constraintText,
  coresText,
  expectedPps,
  gapText,
  objectivesMet,
  remedyText,
  sentence,
} from './plan-text.js';

describe('amount', () => {
  it.each([
    [2_000_000, 'bps', '2.00 Mbit/s'],
    [1, 'instances', '1 instance'],
    [2.3456, 'cores', '2.35 cores'],
    [3e9, 'cycles/s', '3.00 G cycles/s'],
    [0.5, '', '0.5'],
  ])('tells %d %s as %s', (value, unit, text) => expect(amount(value, unit)).toBe(text));
});

describe('apart', () => {
  it.each([
    [9.031, 9.03, 'us', ['9.031 µs', '9.03 µs']],
    [2_000_100, 2_000_000, 'bps', ['2.0001 Mbit/s', '2 Mbit/s']],
    [9.2, 9.03, 'us', ['9.20 µs', '9.03 µs']],
    [1.0004, 1, 'cores', ['1.0004 cores', '1 cores']],
    [9.03, 9.03 * (1 + 1e-12), 'us', null],
  ])('tells %d beside %d %s as %j', (a, b, unit, texts) => expect(apart(a, b, unit)).toEqual(texts));
});

describe('coresText', () => {
  it.each([
    [0, '0'],
    [0.004, '< 0.01'],
    [1.5, '1.50'],
  ])('tells %d cores as %s', (cores, text) => expect(coresText(cores)).toBe(text));
});

describe('constraintText', () => {
  it('says when the figure is the most meanwhile, and counts no switches', () => {
    const full = { constraint: 'switch-table', needed: 25, available: 21, unit: 'entries', where: 'leaf-1' } as const;
    expect(constraintText({ ...full, meanwhile: true })).toBe(
      'Entries in the switch’s table on leaf-1: needs 25 entries while the plan is applied, has 21 entries',
    );
    const own = { constraint: 'switch-program', needed: 1, available: 0, unit: 'switches', where: 'leaf-2' } as const;
    expect(constraintText(own)).toBe('leaf-2 runs a P4 program of its own, and carries no chain');
  });

  it('says what is short, by how much and where', () => {
    const short = { constraint: 'cpu', needed: 54, available: 12, unit: 'cores', where: 'infrastructure' } as const;
    expect(constraintText(short)).toBe('Processor on infrastructure: needs 54 cores, has 12 cores');
  });

  it('never says that what is needed is there to the last digit shown', () => {
    const tight = { constraint: 'latency', needed: 9.0312, available: 9.03, unit: 'us', where: 'the path' } as const;
    expect(constraintText(tight)).toBe('Latency on the path: needs 9.031 µs, has 9.03 µs');
  });

  it('tells a ratio as one', () => {
    const ratio = {
      constraint: 'cpu-time',
      needed: 500,
      available: 5.18,
      unit: 'ratio of cycles',
      where: 'x',
    } as const;
    expect(constraintText(ratio)).toBe(
      'Processor time between classes: a ratio of 500 is required, 5.18 is possible on x',
    );
  });
});

describe('remedyText', () => {
  const chain = (splits: NonNullable<Plan['chains'][number]['splits']>) =>
    ({ splits, definition: { name: 'web' } }) as unknown as Plan['chains'][number];
  const ranges = [
    { lo: 0, hi: 60_000 },
    { lo: 60_000, hi: 65_536 },
  ];
  const cpu = { constraint: 'cpu', unit: 'cores' } as const;

  it('advises other ranges where somebody has set some and they may be the cause', () => {
    expect(remedyText(cpu, [chain([{ node_id: 'ids', ranges }])])).toBe(
      'Lower the expected rate, take a function out, or add cores. Ranges are set for the instances of web.ids: others may fit.',
    );
    for (const constraint of ['switch-table', 'hops', 'link-bandwidth'] as const)
      expect(remedyText({ constraint, unit: '' }, [chain([{ node_id: 'ids', ranges }])])).toContain('web.ids');
  });

  it('does not where none are set, or where they change nothing', () => {
    expect(remedyText(cpu, [chain([]), chain([{ node_id: 'ids', keep_flows: null }])])).not.toContain('anges');
    expect(remedyText({ constraint: 'latency', unit: 'us' }, [chain([{ node_id: 'ids', ranges }])])).not.toContain(
      'anges',
    );
  });
});

describe('gapText', () => {
  it('never rounds a gap to nothing', () => {
    expect(gapText(0)).toBe('0 %');
    expect(gapText(1e-7)).toBe('<0.1 %');
  });
});

describe('objectivesMet', () => {
  it('counts objectives of a schedule that cannot be as missed', () => {
    const plan = {
      slos: [{ met: true }, { met: false }],
      schedules: [
        { chain_id: 'a', feasible: true, objectives: [{ met: true }] },
        { chain_id: 'b', feasible: false, objectives: [] },
      ],
      chains: [{ chain_id: 'b', definition: { class_slos: [{}, {}] } }],
    } as unknown as Plan;
    expect(objectivesMet(plan)).toEqual({ met: 2, all: 5 });
  });
});

describe('expectedPps', () => {
  it('adds up the classes of the chain by its mean packet', () => {
    const plan = {
      classes: [
        { chain_id: 'a', rate_bps: 6400 },
        { chain_id: 'b', rate_bps: 1 },
        { chain_id: 'a', rate_bps: 6400 },
      ],
      chains: [{ chain_id: 'a', definition: { traffic_class: { packet_bytes: 800 } } }],
    } as unknown as Plan;
    expect(expectedPps(plan, 'a')).toBe(2);
  });
});

describe('sentence', () => {
  it('begins large and ends with a full stop', () => {
    expect(sentence('no way leads out')).toBe('No way leads out.');
    expect(sentence('It is so.')).toBe('It is so.');
  });
});
