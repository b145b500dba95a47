import type { TrafficRequest } from '@orrery/contract';

export type TrafficKind = TrafficRequest['kind'];

/** What the form holds; fields that the chosen kind does not have keep their value for when it is chosen again. */
export interface TrafficDraft {
  readonly kind: TrafficKind;
  readonly from: string;
  readonly to: string;
  readonly port: number;
  readonly path: string;
  readonly body: string;
  readonly rate_per_s: number;
  readonly protocol: 'tcp' | 'udp';
  readonly rate_mbps: number;
  readonly packet_bytes: number;
  readonly pcap_id: string;
  readonly rate_pps: number;
  readonly loops: number;
  readonly duration_s: number;
}

export const EMPTY_DRAFT: TrafficDraft = {
  kind: 'http',
  from: '',
  to: '',
  port: 80,
  path: '/',
  body: '',
  rate_per_s: 20,
  protocol: 'udp',
  rate_mbps: 10,
  packet_bytes: 1400,
  pcap_id: '',
  rate_pps: 1000,
  loops: 1,
  duration_s: 60,
};

export function requestOf(draft: TrafficDraft): TrafficRequest {
  const { kind, from, to, duration_s } = draft;
  switch (kind) {
    case 'http': {
      const { port, path, body, rate_per_s } = draft;
      return { kind, from, to, port, path, body, rate_per_s, count: 0, duration_s };
    }
    case 'iperf3': {
      const { protocol, rate_mbps, packet_bytes } = draft;
      return { kind, from, to, protocol, rate_bps: rate_mbps * 1e6, packet_bytes, duration_s: duration_s || 60 };
    }
    case 'probe':
      return { kind, from, to, port: draft.port === 80 ? 9000 : draft.port, rate_per_s: draft.rate_per_s, duration_s };
    case 'pcap':
      return { kind, from, pcap_id: draft.pcap_id, rate_pps: draft.rate_pps, loops: draft.loops, duration_s };
  }
}

/** Fields that must be filled in before the request can be sent. */
export function missingFields(draft: TrafficDraft): (keyof TrafficDraft)[] {
  const needed: (keyof TrafficDraft)[] = draft.kind === 'pcap' ? ['from', 'pcap_id'] : ['from', 'to'];
  return needed.filter((field) => draft[field] === '');
}
