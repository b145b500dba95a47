import { expect, it } from 'vitest';
import { observeCores } from './busy-cores.js';

it('observes the share of the time for which the cores are busy', () => {
  const times = [
    { idle_ms: 1000, total_ms: 5000 },
    { idle_ms: 1500, total_ms: 7000 },
    { idle_ms: 1500, total_ms: 7000 },
  ];
  const busyShare = observeCores(() => times.shift()!);
  expect(busyShare()).toBe(0.75);
  expect(observeCores(() => ({ idle_ms: 0, total_ms: 0 }))()).toBe(0);
});
