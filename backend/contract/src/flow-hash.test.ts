import { expect, it } from 'vitest';
import { flowIdentity } from './flow-hash.js';
import type { SplitFlow } from './flow-steering.js';

const of = (src: string, dst: string, proto: number, from: number, to: number): Required<SplitFlow> => ({
  ...{ 'ip.src': src, 'ip.dst': dst, 'ip.proto': proto, 'port.src': from, 'port.dst': to },
});
const FLOWS = [
  of('10.0.0.1', '10.1.0.1', 6, 1024, 80),
  of('192.168.1.1', '8.8.8.8', 17, 53_124, 53),
  of('198.51.100.1', '203.0.113.7', 1, 0, 0),
  of('0.0.0.0', '0.0.0.0', 0, 0, 0),
  of('255.255.255.255', '255.255.255.255', 255, 65_535, 65_535),
];

it.each<[string, (keyof SplitFlow)[], number[]]>([
  ['all fields', ['ip.src', 'ip.dst', 'ip.proto', 'port.src', 'port.dst'], [0xd372, 0x9a43, 0xb119, 0xdf4e, 0x0b9b]],
  ['addresses', ['ip.src', 'ip.dst'], [0x358a, 0x2057, 0x2716, 0xdf4e, 0xdf84]],
  ['one address', ['ip.src'], [0x302b, 0x10da, 0x0ad9, 0xdf4e, 0x6eb3]],
  ['protocol and ports', ['ip.proto', 'port.src', 'port.dst'], [0xb8a4, 0x4f38, 0xc308, 0xdf4e, 0x3dce]],
])('H(f) is that of the engines (flow_hash_test.cc) over %s', (_what, key, identities) => {
  const flows = FLOWS.map((flow) => Object.fromEntries(key.map((field) => [field, flow[field]])) as SplitFlow);
  expect(flows.map(flowIdentity)).toEqual(identities);
});
