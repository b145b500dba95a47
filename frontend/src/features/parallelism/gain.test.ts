import { expect, it } from 'vitest';
import { gainText, measuredGain } from './gain.js';
import { cyclesPerPacket } from './joint-cost.js';
import { median } from './measured-before.js';

it('is the share saved in parallel, whichever of the two runs now', () => {
  expect(measuredGain('parallel', 80, 100)).toBeCloseTo(0.2);
  expect(measuredGain('sequential', 100, 80)).toBeCloseTo(0.2);
  expect(measuredGain('parallel', 80, undefined)).toBeNull();
  expect(measuredGain(null, 80, 100)).toBeNull();
  expect(gainText(-0.05)).toBe('−5.0 %');
});

it('takes what is in the middle', () => {
  expect(median([5, 1, 900])).toBe(5);
  expect(median([])).toBeNull();
});

it('counts the cycles for each packet by the clock of the server', () => {
  const infrastructure = { servers: [{ id: 'server-1', ghz: 2 }] } as Parameters<typeof cyclesPerPacket>[1];
  const joint = { core_share: 0.1, load_bps: 8e6, server: 'server-1' };
  expect(cyclesPerPacket(joint, infrastructure, 1000)).toBeCloseTo(200_000);
  expect(cyclesPerPacket({ ...joint, server: 'gone' }, infrastructure, 1000)).toBeNull();
  expect(cyclesPerPacket({ ...joint, load_bps: 0 }, infrastructure, 1000)).toBeNull();
});
