import type { TrafficRequest } from '@orrery/contract';
import { type Entry, type NumberBounds, numberProblem } from '../../shared/format/number.js';

export type TrafficKind = TrafficRequest['kind'];
interface Drafts {
  readonly http: {
    readonly to: string;
    readonly port: Entry;
    readonly path: string;
    readonly body: string;
    readonly rate_per_s: Entry;
    readonly duration_s: Entry;
  };
  readonly iperf3: {
    readonly to: string;
    readonly protocol: 'tcp' | 'udp';
    readonly rate_mbps: Entry;
    readonly packet_bytes: Entry;
    readonly duration_s: Entry;
  };
  readonly probe: {
    readonly to: string;
    readonly port: Entry;
    readonly rate_per_s: Entry;
    readonly duration_s: Entry;
  };
  readonly pcap: {
    readonly pcap_id: string;
    readonly rate_pps: Entry;
    readonly loops: Entry;
    readonly duration_s: Entry;
  };
}

/** What the form holds for one kind of traffic. */
export type TrafficDraft = {
  [K in TrafficKind]: { readonly kind: K; readonly from: string } & Drafts[K];
}[TrafficKind];

export const EMPTY_DRAFTS: { readonly [K in TrafficKind]: Extract<TrafficDraft, { kind: K }> } = {
  http: { kind: 'http', from: '', to: '', port: 80, path: '/', body: '', rate_per_s: 20, duration_s: 60 },
  iperf3: { kind: 'iperf3', from: '', to: '', protocol: 'udp', rate_mbps: 10, packet_bytes: 1400, duration_s: 60 },
  probe: { kind: 'probe', from: '', to: '', port: 9000, rate_per_s: 50, duration_s: 60 },
  pcap: { kind: 'pcap', from: '', pcap_id: '', rate_pps: 1000, loops: 1, duration_s: 60 },
};

interface NumberField extends NumberBounds {
  readonly name: string;
  readonly label: string;
  readonly suffix?: string;
  readonly description?: string;
}

const PORT: NumberField = { name: 'port', label: 'Port', min: 1, max: 65_535, whole: true };
const UNTIL_STOPPED: NumberField = {
  name: 'duration_s',
  label: 'For',
  min: 0,
  max: 86_400,
  suffix: ' s',
  description: '0: until it is stopped',
};

export const NUMBERS: Record<TrafficKind, readonly NumberField[]> = {
  http: [{ name: 'rate_per_s', label: 'Rate', min: 1, max: 2000, suffix: ' requests/s' }, PORT, UNTIL_STOPPED],
  iperf3: [
    { name: 'rate_mbps', label: 'Rate', min: 1, max: 10_000, suffix: ' Mbit/s' },
    { name: 'packet_bytes', label: 'Packet', min: 64, max: 1460, whole: true, suffix: ' bytes' },
    { name: 'duration_s', label: 'For', min: 1, max: 86_400, suffix: ' s' },
  ],
  probe: [{ name: 'rate_per_s', label: 'Rate', min: 1, max: 1000, suffix: ' probes/s' }, PORT, UNTIL_STOPPED],
  pcap: [
    { name: 'rate_pps', label: 'Rate', min: 1, max: 100_000, suffix: ' packets/s' },
    { name: 'loops', label: 'Times', min: 1, max: 1000, whole: true },
    UNTIL_STOPPED,
  ],
};

/** What must be mended before the draft can be sent, by field. */
export function draftProblems(draft: TrafficDraft): Readonly<Record<string, string>> {
  const problems: Record<string, string> = {};
  const entries = draft as unknown as Readonly<Record<string, Entry>>;
  for (const name of ['from', draft.kind === 'pcap' ? 'pcap_id' : 'to']) {
    if (entries[name] === '') problems[name] = 'Choose one';
  }
  for (const field of NUMBERS[draft.kind]) {
    const problem = numberProblem(field, entries[field.name] ?? '');
    if (problem) problems[field.name] = problem;
  }
  if (draft.kind === 'http' && !draft.path.startsWith('/')) problems.path = 'Starts with /';
  return problems;
}

/** A path as it may stand in a request: what is no visible ASCII is percent-encoded, what is encoded already stays. */
export function encodedPath(path: string): string {
  return path.replace(/[^\x21-\x7e]+/g, encodeURIComponent);
}

/** The request of a draft that has no problem. */
export function requestOf(draft: TrafficDraft): TrafficRequest {
  const duration_s = Number(draft.duration_s);
  switch (draft.kind) {
    case 'http': {
      const { kind, from, to, path, body } = draft;
      const [port, rate_per_s] = [Number(draft.port), Number(draft.rate_per_s)];
      return { kind, from, to, port, path: encodedPath(path), body, rate_per_s, count: 0, duration_s };
    }
    case 'iperf3': {
      const { kind, from, to, protocol } = draft;
      const rate_bps = Math.round(Number(draft.rate_mbps) * 1e6);
      return { kind, from, to, protocol, rate_bps, packet_bytes: Number(draft.packet_bytes), duration_s };
    }
    case 'probe': {
      const { kind, from, to } = draft;
      return { kind, from, to, port: Number(draft.port), rate_per_s: Number(draft.rate_per_s), duration_s };
    }
    case 'pcap': {
      const { kind, from, pcap_id } = draft;
      return { kind, from, pcap_id, rate_pps: Number(draft.rate_pps), loops: Number(draft.loops), duration_s };
    }
  }
}
