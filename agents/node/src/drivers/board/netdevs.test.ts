import { expect, it } from 'vitest';
import { netdevs } from './netdevs.js';

it('reads the interfaces of this namespace and their counters', () => {
  const loopback = netdevs().get('lo');
  expect(loopback).toBeDefined();
  // Loopback receives what it sends.
  expect(loopback!.sent).toBe(loopback!.received);
  expect(Number.isInteger(loopback!.sent)).toBe(true);
});
