import fc from 'fast-check';
import { expect, it } from 'vitest';
import { clientAddress, limitKey, trustOf } from './client-address.js';

const request = (remoteAddress: string, forwarded?: string) =>
  ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }) as never;

it('X-Forwarded-For counts from trusted proxies only, and only what they added', () => {
  const trust = trustOf(['10.0.0.0/8']);
  expect(clientAddress(request('192.0.2.1', '198.51.100.1'), trust)).toBe('192.0.2.1');
  expect(clientAddress(request('10.0.0.1', '198.51.100.1'), trust)).toBe('198.51.100.1');
  expect(clientAddress(request('10.0.0.1', '6.6.6.6, 198.51.100.1, 10.0.0.2'), trust)).toBe('198.51.100.1');
});

it('believes nobody by default', () => {
  fc.assert(
    fc.property(fc.ipV4(), fc.ipV4(), (peer, claimed) => {
      expect(clientAddress(request(peer, claimed), trustOf([]))).toBe(peer);
    }),
  );
});

it('limits an IPv6 network as one, however an address in it is written', () => {
  expect(limitKey('2001:db8:1:2:a:b:c:d')).toBe(limitKey('2001:db8:1:2::1'));
  expect(limitKey('2001:0db8:1:2::1')).toBe(limitKey('2001:db8:1:2::1'));
  expect(limitKey('2001:db8:1:3::1')).not.toBe(limitKey('2001:db8:1:2::1'));
  expect(limitKey('::1')).toBe('0:0:0:0/64');
  expect(limitKey('::ffff:192.0.2.1')).toBe('192.0.2.1');
  fc.assert(fc.property(fc.ipV6(), (address) => void expect(limitKey(address)).toMatch(/\/64$|^\d+\./)));
});
