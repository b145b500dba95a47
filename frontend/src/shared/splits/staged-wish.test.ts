import { FLOW_SPACE } from '@orrery/contract';
import { expect, it } from 'vitest';
import { inStep, keptInSteps } from './staged-wish.js';

const cut = (at: number) => [
  { lo: 0, hi: at },
  { lo: at, hi: FLOW_SPACE },
];
const [now, other] = [cut(FLOW_SPACE / 2), cut(9)];
const exceptions = [{ flow: { 'ip.src': '10.0.1.1' }, ordinal: 1 }];
const done = { exceptions, idle_timeout_s: 5 };
const keep_flows = { capacity: 100, idle_timeout_s: 8 };
const ask = { node_id: 'ids', ranges: other, keep_flows };

it('goes on in the step of the split, with the idle time that is asked', () => {
  const held = { ...done, held: now };
  expect(inStep(ask, held, other)).toEqual({ ...ask, staged: { ...held, idle_timeout_s: 8 } });
  expect(inStep(ask, undefined, now)).toEqual(ask);
  expect(inStep({ ...ask, keep_flows: null }, held, now)).toEqual({ ...ask, keep_flows: null });
});

it('begins with tracking, by the ranges as they are, once the switches have taken over', () => {
  expect(inStep(ask, done, now)).toEqual({
    ...{ node_id: 'ids', ranges: now, keep_flows },
    staged: { exceptions, idle_timeout_s: 8, held: now },
  });
  expect(inStep({ ...ask, ranges: now }, done, now).staged).toEqual({ ...done, idle_timeout_s: 8 });
});

it('lets flows stay at first where they do, also by switches that have taken over', () => {
  expect(keptInSteps(keep_flows, undefined)).toBe(keep_flows);
  expect(keptInSteps(null, undefined)).toBeNull();
  expect(keptInSteps(null, { keep_flows: null, staged: done })).toBeNull();
  expect(keptInSteps(null, { keep_flows, staged: done })).toEqual({ capacity: 100, idle_timeout_s: 5 });
  expect(keptInSteps(null, { staged: done })).toEqual({ capacity: 65_536, idle_timeout_s: 5 });
});
