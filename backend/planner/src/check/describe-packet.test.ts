import { expect, it } from 'vitest';
import { describePacket } from './describe-packet.js';
import { interval } from './interval-set.js';
import { allPackets, type Box } from './packet-space.js';

const [withPorts, without] = allPackets(new Map()) as [Box, Box];
const text = (box: Box, change: [string, ReturnType<typeof interval>][] = []) =>
  describePacket(new Map([...box, ...change]), () => null);
const TCP: [string, ReturnType<typeof interval>] = ['ip.proto', interval(6, 6)];

it('names what a box constrains, and leaves out what is open', () => {
  expect(text(withPorts, [TCP])).toBe('TCP');
  expect(text(withPorts, [TCP, ['port.dst', interval(80, 90)]])).toMatch(/^TCP to port (8\d|90)$/);
  const source: [string, ReturnType<typeof interval>] = ['ip.src', interval(0x0a000001, 0x0a000001)];
  expect(text(withPorts, [TCP, source, ['port.src', interval(7, 7)]])).toBe('TCP from 10.0.0.1:7');
  expect(text(withPorts, [TCP, source, ['ip.dst', interval(1, 1)], ['port.dst', interval(80, 80)]])).toBe(
    'TCP from 10.0.0.1 to 0.0.0.1:80',
  );
});

it('names no ports of a protocol that has none', () => {
  expect(text(without, [['ip.proto', interval(1, 1)]])).toBe('ICMP');
});
