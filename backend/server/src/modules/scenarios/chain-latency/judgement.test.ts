import { expect, it } from 'vitest';
import { CHAIN_LATENCY } from './chain-latency.js';
import { judgementOf } from './judgement.js';

it('allows 10 % of the predicted p50 and 20 % of the predicted p99 unless told otherwise', () => {
  expect(CHAIN_LATENCY.script({}).parameters).toMatchObject({ tolerance_p50: 0.1, tolerance_p99: 0.2 });
});

it('refuses a host that sends to itself, at the field', () => {
  expect(() => CHAIN_LATENCY.script({ from: 'client-3', to: 'client-3' })).toThrow(
    '/parameters/to: must not be the sending host',
  );
});

it('judges the ratio on a quiet machine', () => {
  expect(judgementOf(0.1, 0.3)).toEqual({ bar: { least: 0.9, most: 1.1 }, note: '' });
});

it('does not judge on a busy machine, and says why', () => {
  expect(judgementOf(0.1, 0.934)).toEqual({ bar: null, note: expect.stringContaining('busy for 93 % of the time') });
});
