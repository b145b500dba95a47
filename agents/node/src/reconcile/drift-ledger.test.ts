import { expect, it } from 'vitest';
import type { Drift } from '../drivers/nf-driver.js';
import { eventLog } from '../testing/scratch.js';
import { DriftLedger } from './drift-ledger.js';

const drift = (part: string, blocked: string | null = null): Drift => ({ part, difference: 'it is down', blocked });

it('tells each difference once, when it is found and when it is gone', () => {
  const log = eventLog();
  const ledger = new DriftLedger('n1', log.emit);
  ledger.update([drift('a')], 0);
  ledger.update([drift('a'), drift('b', 'no right')], 100);
  ledger.update([drift('b', 'no right')], 250);
  ledger.update([drift('b', 'no right')], 300);
  ledger.update([], 400);
  expect(log.events.map(({ event, message }) => `${event} ${message}`)).toEqual([
    'drift.found a: it is down; it is repaired',
    'drift.found b: it is down; not repaired: no right',
    'drift.repaired a is as desired again (it is down)',
    'drift.repaired b is as desired again (it is down)',
  ]);
});

it('tells again when the reason changes why it is not repaired', () => {
  const log = eventLog();
  const ledger = new DriftLedger('n1', log.emit);
  ledger.update([drift('a')], 0);
  ledger.update([drift('a', 'no right')], 1);
  expect(log.names()).toEqual(['drift.found', 'drift.found']);
});
