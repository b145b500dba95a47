import { expect, it } from 'vitest';
import { netdevs } from './netdevs.js';

it('reads the interfaces of this namespace with what they carried', () => {
  const loopback = netdevs().get('lo');
  expect(loopback).toBeDefined();
  // Loopback gets what it is sent.
  expect(loopback!.sent).toBe(loopback!.received);
  expect(Number.isInteger(loopback!.sent)).toBe(true);
});
