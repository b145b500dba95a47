import type { SplitFlow } from './flow-steering.js';
import type { KeptFlowKey } from './switch-spec.js';

const WORD = (1n << 64n) - 1n;
const address = (text = '0.0.0.0') => text.split('.').reduce((value, byte) => value * 256n + BigInt(byte), 0n);

/** Finalizer of splitmix64, as in `agents/support/flow_hash.h`. */
function mix(value: bigint): bigint {
  let x = value & WORD;
  x = ((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n) & WORD;
  x = ((x ^ (x >> 27n)) * 0x94d049bb133111ebn) & WORD;
  return x ^ (x >> 31n);
}

/** H(f) of an IPv4 flow (E2 3.4.4), as engines and P4 switches compute it; fields that the key lacks count as 0. */
export function flowIdentity(flow: SplitFlow): number {
  const addresses = (address(flow['ip.src']) << 32n) | address(flow['ip.dst']);
  const ports = (BigInt(flow['port.src'] ?? 0) << 16n) | BigInt(flow['port.dst'] ?? 0);
  const rest = (BigInt(flow['ip.proto'] ?? 0) << 32n) | ports;
  return Number(mix(mix(addresses + 0x9e3779b97f4a7c15n) ^ (rest + 0x7f4a7c15n)) >> 48n);
}

/** By what a switch tells the flow from others of its split. */
export function keptFlowKey(flow: SplitFlow): KeptFlowKey {
  return {
    flow_id: flowIdentity(flow),
    ip_src: Number(address(flow['ip.src'])),
    ip_dst: Number(address(flow['ip.dst'])),
    ip_proto: flow['ip.proto'] ?? 0,
  };
}
