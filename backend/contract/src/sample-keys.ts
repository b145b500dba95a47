import type { SlotRef } from './boards.js';

export type SampleUnit = 'pps' | 'bps' | 'us' | 'share' | 'packets' | 'ratio' | 'per_s' | 'count';

export interface SampleMetricInfo {
  readonly unit: SampleUnit;
  readonly label: string;
}

const pps = { unit: 'pps', label: 'Packet rate' } as const;
const bps = { unit: 'bps', label: 'Bit rate' } as const;
const cpu = { unit: 'share', label: 'CPU, share of one core' } as const;
const latency = {
  latency_p50_us: { unit: 'us', label: 'Latency, median' },
  latency_p99_us: { unit: 'us', label: 'Latency, 99th percentile' },
} as const;

/** Metrics of each kind of subject. A new metric is one entry here. */
export const SAMPLE_METRICS = {
  chain: { pps, bps, ...latency },
  instance: {
    pps,
    bps,
    out_pps: { unit: 'pps', label: 'Packet rate out' },
    out_bps: { unit: 'bps', label: 'Bit rate out' },
    drops_pps: { unit: 'pps', label: 'Drops' },
    full_pps: { unit: 'pps', label: 'Packets for which its queue had no room' },
    cpu,
    ...latency,
    queue: { unit: 'packets', label: 'Queue' },
    split_pps: { unit: 'pps', label: 'Packet rate that its split sends it' },
    flows: { unit: 'count', label: 'Flows in progress that its split tracks' },
    exceptions: { unit: 'count', label: 'Flows kept outside its range' },
  },
  /** All instances of a chain's NF together; the subject is `<chain name>.<node id>`. */
  nf: {
    pps,
    bps,
    cpu,
    untracked_pps: { unit: 'pps', label: 'Packets of flows that its split has no room to track' },
    displaced_per_s: { unit: 'per_s', label: 'Flows that could not stay at their instance' },
  },
  /** A mirror, merge or queue beside the NFs. */
  module: {
    pps: { unit: 'pps', label: 'Copies or packets in' },
    out_pps: { unit: 'pps', label: 'Copies or packets out' },
    drops_pps: { unit: 'pps', label: 'Drops' },
    lost_pps: { unit: 'pps', label: 'Packets given up because a copy was missing' },
    waiting: { unit: 'packets', label: 'Waiting' },
    cpu,
  },
  /** A node of a scheduler tree; the subject is `<server> <core> <node>`. */
  scheduler: { pps, bps, cpu, polling: { unit: 'share', label: 'CPU spent on empty queues, share of one core' } },
  node: { cpu },
  board: { slowdown: { unit: 'ratio', label: 'Slowdown compared with real hardware' }, cpu },
  slot: {
    pps,
    bps,
    lost_pps: { unit: 'pps', label: 'Lost frames' },
    no_hop_pps: { unit: 'pps', label: 'Frames dropped without a next hop' },
  },
  link: {
    a_to_b_bps: { unit: 'bps', label: 'Bit rate, first end to second' },
    b_to_a_bps: { unit: 'bps', label: 'Bit rate, second end to first' },
  },
  /** Packets that matched a fabric rule at one switch; the subject is `<switch> <rule>`. */
  rule: { pps, bps },
  application: {
    bps,
    ...latency,
    requests_per_s: { unit: 'per_s', label: 'Requests' },
    connections: { unit: 'count', label: 'Open connections' },
    sent_per_s: { unit: 'per_s', label: 'Sent' },
    received_per_s: { unit: 'per_s', label: 'Received' },
    lost_per_s: { unit: 'per_s', label: 'Lost' },
    errors_per_s: { unit: 'per_s', label: 'Errors' },
    bytes_per_s: { unit: 'per_s', label: 'Bytes' },
    flows: { unit: 'count', label: 'Flows in progress' },
    flows_started_per_s: { unit: 'per_s', label: 'Flows started' },
    flows_ended_per_s: { unit: 'per_s', label: 'Flows ended' },
    flows_refused_per_s: { unit: 'per_s', label: 'Flows not begun' },
    flows_with_loss: { unit: 'count', label: 'Flows with loss' },
    late_per_s: { unit: 'per_s', label: 'Sent late' },
    reordered_per_s: { unit: 'per_s', label: 'Reordered' },
    duplicates_per_s: { unit: 'per_s', label: 'Duplicates' },
    max_gap_us: { unit: 'us', label: 'Longest gap within a flow' },
  },
} as const satisfies Record<string, Record<string, SampleMetricInfo>>;

export type SampleKind = keyof typeof SAMPLE_METRICS;
export type SampleMetric<K extends SampleKind> = K extends SampleKind
  ? keyof (typeof SAMPLE_METRICS)[K] & string
  : never;
type SampleSubject<K extends SampleKind> = K extends 'slot' ? SlotRef : string;

/** The parsed form of a key. */
export type SampleName = {
  [K in SampleKind]: { readonly kind: K; readonly subject: SampleSubject<K>; readonly metric: SampleMetric<K> };
}[SampleKind];

/** `<kind>/<subject>/<metric>`; slashes and percent signs of the subject are escaped. */
export function sampleKey<K extends SampleKind>(kind: K, subject: SampleSubject<K>, metric: SampleMetric<K>): string {
  return `${kind}/${subjectText(subject)}/${metric}`;
}

/** Prefix of the keys of a kind or, with a subject, of all metrics of one subject. */
export function samplePrefix<K extends SampleKind>(kind: K, subject?: SampleSubject<K>): string {
  return subject === undefined ? `${kind}/` : `${kind}/${subjectText(subject)}/`;
}

/** Prefix of the keys of every instance of a chain. */
export function instancesPrefix(chainName: string): string {
  return `instance/${escaped(`${chainName}.`)}`;
}

/** Null if it is not a key of this contract. */
export function parseSampleKey(key: string): SampleName | null {
  const [kind = '', text = '', metric = '', ...more] = key.split('/');
  if (more.length > 0 || !Object.hasOwn(SAMPLE_METRICS, kind)) return null;
  if (!Object.hasOwn(SAMPLE_METRICS[kind as SampleKind], metric)) return null;
  const subject = unescaped(text);
  if (!subject) return null;
  const named = kind === 'slot' ? slotOf(subject) : subject;
  return named === null ? null : ({ kind, subject: named, metric } as SampleName);
}

/** Unit and label of the metric; null if it is not a key of this contract. */
export function metricOfKey(key: string): SampleMetricInfo | null {
  const name = parseSampleKey(key);
  if (!name) return null;
  const metrics: Readonly<Record<string, SampleMetricInfo>> = SAMPLE_METRICS[name.kind];
  return metrics[name.metric] ?? null;
}

function subjectText(subject: string | SlotRef): string {
  return escaped(typeof subject === 'string' ? subject : `${subject.board}.${subject.slot}`);
}

function slotOf(subject: string): SlotRef | null {
  const [, board, slot] = /^([^.]+)\.(\d{1,2})$/.exec(subject) ?? [];
  return board === undefined ? null : { board, slot: Number(slot) };
}

const ESCAPES = { '%': '%25', '/': '%2F' } as const;

function escaped(subject: string): string {
  return subject.replaceAll(/[%/]/g, (found) => ESCAPES[found as keyof typeof ESCAPES]);
}

/** Null if a percent sign does not start a known escape. */
function unescaped(text: string): string | null {
  if (/%(?!25|2F)/.test(text)) return null;
  return text.replaceAll('%2F', '/').replaceAll('%25', '%');
}
