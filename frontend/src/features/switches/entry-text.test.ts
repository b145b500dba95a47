import type { SwitchMatch } from '@orrery/contract';
import { expect, it } from 'vitest';
import { actionText, matchText } from './entry-text.js';

const full = (bits: number) => 2 ** bits - 1;

it.each<[SwitchMatch, string]>([
  [{ fields: {} }, 'every packet'],
  [{ port: 'h-1', fields: { 'eth.type': { value: 0x806, mask: full(16) } } }, 'in h-1, eth.type ARP'],
  [
    {
      fields: {
        'eth.type': { value: 0x800, mask: full(16) },
        'ip.src': { value: 0x0a000000, mask: 0xff000000 },
        'ip.proto': { value: 6, mask: full(8) },
        'ip.fragment': { value: 0, mask: 1 },
        'port.dst': { value: 1024, mask: 0xfc00 },
      },
    },
    'ip.src 10.0.0.0/8, ip.proto TCP, port.dst 1024–2047',
  ],
  [{ fields: { 'port.dst': { lo: 80, hi: 90, not: true } } }, 'port.dst not 80–90'],
  [{ fields: { 'port.src': { value: 5, mask: 0x0f0f } } }, 'port.src 5/0xf0f'],
  [{ fields: { 'ip.dst': { value: 0xc0a80001, mask: full(32) } } }, 'ip.dst 192.168.0.1'],
  [
    { fields: { 'eth.dst': { value: 0x020e00010000, mask: 0xffffffff0000 } } },
    'eth.dst 02:0e:00:01:00:00/ff:ff:ff:ff:00:00',
  ],
  [{ ipv6_dst: 'fd00::1', fields: { 'eth.type': { value: 0x86dd, mask: full(16) } } }, 'ip.dst fd00::1'],
  [{ fields: { 'ip.src': { value: 0, mask: 0 } } }, 'ip.src 0.0.0.0/0'],
])('%# reads as the field writes it', (match, text) => {
  expect(matchText(match)).toBe(text);
});

it('says each action', () => {
  expect(
    [
      { do: 'set-mac', field: 'eth.dst', mac: '02:0e:00:01:00:00' } as const,
      { do: 'next-table', table: 'steer' } as const,
      { do: 'group', group: 7 } as const,
      { do: 'output', port: 's-1' } as const,
    ].map((action) => actionText(action)),
  ).toEqual(['eth.dst := 02:0e:00:01:00:00', 'table steer', 'group 7', 'output s-1']);
});
