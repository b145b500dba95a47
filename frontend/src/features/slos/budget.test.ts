import type { SloBudget, SloHistory } from '@orrery/contract';
import { expect, it } from 'vitest';
import { burnOf, burnText, complianceText, goalText, leftText, windowText } from './budget.js';
import { columnsOf, isKnown } from './history.js';

const budget: SloBudget = {
  goal: 0.99,
  period_s: 2_592_000,
  since_ms: 0,
  good_s: 900,
  bad_s: 100,
  unknown_s: 0,
  compliance: 0.9,
  left_s: 25_820,
  left_share: 0.996,
  burn: [
    { window_s: 60, rate: 0 },
    { window_s: 3600, rate: null },
  ],
};

it('says what is left of a budget, and how much more than that was used', () => {
  expect(leftText(budget)).toBe('99.6 %, 7 h 10 min; 1 min 40 s used');
  expect(leftText({ ...budget, bad_s: 10, left_s: 25_910, left_share: 25_910 / 25_920 })).toBe(
    '99.9 %, 7 h 12 min; 10.0 s used',
  );
  expect(leftText({ ...budget, bad_s: 0, left_s: 25_920, left_share: 1 })).toBe('100 %, 7 h 12 min');
  expect(leftText({ ...budget, left_s: -180, left_share: -0.01 })).toBe('used up, 3 min 0 s over');
  expect(leftText({ ...budget, left_s: 0, left_share: 0 })).toBe('used up');
});

it('tells a burn rate of nothing from none that is known', () => {
  expect(burnText(burnOf(budget, 60))).toBe('0 ×');
  expect(burnText(burnOf(budget, 3600))).toBe('–');
  expect(burnText(burnOf(null, 60))).toBe('–');
  expect([burnText(0.44), burnText(9.94), burnText(14.4)]).toEqual(['0.4 ×', '9.9 ×', '14 ×']);
});

it('never rounds a compliance up to its goal', () => {
  expect(complianceText(0.999999)).toBe('99.999 %');
  expect(complianceText(0.98996)).toBe('98.9 %');
  expect([complianceText(1), complianceText(null)]).toEqual(['100 %', '–']);
  expect([goalText(0.99), goalText(0.9995), goalText(0.99999)]).toEqual(['99 %', '99.95 %', '99.999 %']);
  expect([windowText(60), windowText(10), windowText(21_600), windowText(604_800)]).toEqual([
    '1 min',
    '10 s',
    '6 h',
    '7 d',
  ]);
});

it('draws a history at the end of each step, with gaps where nothing was judged', () => {
  const point = {
    t_ms: 10_000,
    good_s: 0,
    bad_s: 0,
    unknown_s: 10,
    mean: null,
    worst: null,
    burn: null,
    left_share: 1,
  };
  const history: SloHistory = {
    ...{ chain_id: 'c', slo_id: 's', goal: 0.99, period_s: 3600, since_ms: 0, step_s: 10, to_ms: 27_000 },
    points: [point, { ...point, t_ms: 20_000, bad_s: 10, unknown_s: 0, burn: 100, left_share: 0.7 }],
  };
  expect(
    columnsOf(
      history,
      ({ burn }) => burn,
      ({ left_share }) => left_share,
    ),
  ).toEqual([
    [20, 27],
    [null, 100],
    [1, 0.7],
  ]);
  const later = { ...history, since_ms: 20_000 };
  expect(columnsOf(later, ({ left_share }) => left_share)[1]).toEqual([null, 0.7]);
  expect(isKnown(history)).toBe(true);
  expect(isKnown({ ...history, points: [point] })).toBe(false);
});
