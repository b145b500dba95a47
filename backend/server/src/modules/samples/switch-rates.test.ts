import type { SwitchSamples } from '@orrery/contract';
import { expect, it } from 'vitest';
import { SwitchRates } from './switch-rates.js';

const RATE_PPS = 50;

/** The counters after so many seconds of constant traffic. */
function after(seconds: number, interval_ms = 1000): SwitchSamples {
  const packets = RATE_PPS * seconds;
  const rules = [{ rule_id: 'hop/1', packets, bytes: 100 * packets }];
  return { t_ms: 1000 * seconds, interval_ms, lost: 0, generation: 1, entries: [], rules, splits: [] };
}

const RATES = [
  ['rule/leaf hop%2F1/pps', RATE_PPS],
  ['rule/leaf hop%2F1/bps', 800 * RATE_PPS],
];

it('turns counters into rates from the second set on', () => {
  const rates = new SwitchRates('leaf');
  expect(rates.take(after(10), 10_000)).toEqual([]);
  expect(rates.take(after(11), 11_020)).toEqual(RATES);
});

it('gives no rates of a set without the one before it, and true ones after it', () => {
  const rates = new SwitchRates('leaf');
  rates.take(after(10), 10_000);
  expect(rates.take(after(20), 20_000)).toEqual([]);
  expect(rates.take(after(21), 21_000)).toEqual(RATES);
});

it('gives rates over the whole interval that a set reports', () => {
  const rates = new SwitchRates('leaf');
  rates.take(after(10), 10_000);
  expect(rates.take(after(20, 10_000), 20_000)).toEqual(RATES);
});

it('gives rates of sets that arrive together after a delay, but of the first', () => {
  const rates = new SwitchRates('leaf');
  rates.take(after(10), 10_000);
  expect(rates.take(after(11), 13_000)).toEqual([]);
  expect(rates.take(after(12), 13_001)).toEqual(RATES);
  expect(rates.take(after(13), 13_002)).toEqual(RATES);
});
