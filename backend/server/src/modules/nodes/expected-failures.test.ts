import type { EventDraft } from '@orrery/contract';
import { beforeEach, expect, it } from 'vitest';
import { RACK } from '../../testing/fixtures.js';
import { ExpectedFailures } from './expected-failures.js';

const LIMIT_MS = 1000;
const [LEAF] = RACK.switches;
const run = (driver: 'ovs' | 'p4') => ({ switches: [{ ...LEAF!, driver }] });
const FAILED: EventDraft = {
  type: 'switch.failed',
  subject: LEAF!.id,
  message: 'does not answer',
  data: { node: 'n' },
};
const RECOVERED: EventDraft = { ...FAILED, type: 'switch.recovered' };
const yes = () => true;
const no = () => false;

let failures: ExpectedFailures;
beforeEach(() => {
  failures = new ExpectedFailures(LIMIT_MS);
  failures.follow(run('ovs'), 0);
});

it('keeps nothing back of a switch whose driver does not change', () => {
  failures.follow(run('ovs'), 0);
  expect(failures.holds(FAILED)).toBe(false);
});

it('tells no failure that ends with the change', () => {
  failures.follow(run('p4'), 0);
  expect(failures.holds(FAILED)).toBe(true);
  expect(failures.due(LIMIT_MS - 1, no, yes)).toEqual([]);
  expect(failures.due(LIMIT_MS - 1, yes, no)).toEqual([]);
  expect(failures.due(2 * LIMIT_MS, no, yes)).toEqual([]);
  expect(failures.holds(FAILED), 'it has changed').toBe(false);
});

it('tells a failure that outlasts the change, once', () => {
  failures.follow(run('p4'), 0);
  failures.holds(FAILED);
  expect(failures.due(LIMIT_MS, no, yes)).toEqual([FAILED]);
  expect(failures.due(2 * LIMIT_MS, no, yes)).toEqual([]);
});

it('gives a change that is taken back its own time, and forgets what has recovered', () => {
  failures.follow(run('p4'), 0);
  failures.holds(FAILED);
  failures.follow(run('ovs'), LIMIT_MS - 1);
  expect(failures.due(LIMIT_MS, no, yes)).toEqual([]);
  expect(failures.holds(RECOVERED), 'which is told').toBe(false);
  expect(failures.due(2 * LIMIT_MS, no, yes)).toEqual([]);
});
