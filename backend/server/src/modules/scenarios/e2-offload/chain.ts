import { ChainDefinition } from '@orrery/contract';

export const CHAIN = 'scenario-e2-offload';
/** The NFs that a switch can take; the monitor behind them tells flows apart, and stays on its server. */
export const FIRST_NFS = ['firewall', 'limiter'] as const;
export const LAST_NF = 'monitor';
export const NF_KINDS = ['firewall', 'rate-limiter', 'monitor'] as const;

/** Destination ports of the frames of `frames.ts`. */
const FIRST_PORT = 24_000;
const PORTS = 4000;
/** Of a frame without options: behind Ethernet, IPv4 and the source port. */
const DESTINATION_PORT_AT = 14 + 20 + 2;
/** More than is sent: the limiter works and drops nothing, so that both runs are to deliver the same. */
const LIMIT_BPS = 1_000_000_000;
const BURST_BYTES = 1_000_000;
/** Of the frames, on average. */
const FRAME_BYTES = 730;

interface Shape {
  readonly from: string;
  readonly address: string;
  readonly rate_pps: number;
  /** Of the destination ports. */
  readonly denied_share: number;
}

export function definitionOf({ from, address, rate_pps, denied_share }: Shape): ChainDefinition {
  const last = lastDenied(denied_share);
  const rules = last === null ? [] : [{ action: 'deny', dst_port: `${FIRST_PORT}-${last}` }];
  return ChainDefinition.parse({
    name: CHAIN,
    title: 'Scenario: first NFs on the switch',
    description: 'Created by the scenario “e2-offload”, which also removes it.',
    traffic_class: {
      from: [from],
      match: [{ attribute: 'ip.dst', value: address }],
      rate_bps: 8 * FRAME_BYTES * rate_pps,
      packet_bytes: FRAME_BYTES,
    },
    nodes: [
      { id: 'in', kind: 'ingress' },
      { id: 'firewall', kind: 'nf', nf: 'firewall', config: { default_action: 'allow', rules } },
      { id: 'limiter', kind: 'nf', nf: 'rate-limiter', config: { rate_bps: LIMIT_BPS, burst_bytes: BURST_BYTES } },
      { id: 'monitor', kind: 'nf', nf: 'monitor' },
      { id: 'out', kind: 'egress' },
    ],
    edges: [
      { id: 'e1', from: 'in', to: 'firewall' },
      { id: 'e2', from: 'firewall', to: 'limiter' },
      { id: 'e3', from: 'limiter', to: 'monitor' },
      { id: 'e4', from: 'monitor', to: 'out' },
    ],
  });
}

/** The last port that the firewall denies; null: none. */
function lastDenied(share: number): number | null {
  const ports = Math.round(share * PORTS);
  return ports === 0 ? null : FIRST_PORT + ports - 1;
}

/** Frames, and bytes, that the firewall is to deny; computed here, by no NF. */
export function deniedOf(frames: readonly Buffer[], share: number): { packets: number; bytes: number } {
  const last = lastDenied(share) ?? 0;
  const denied = frames.filter((frame) => frame.readUInt16BE(DESTINATION_PORT_AT) <= last);
  return { packets: denied.length, bytes: denied.reduce((sum, { length }) => sum + length, 0) };
}
