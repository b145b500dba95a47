import type { CaptureStatus } from '@orrery/contract';
import { requireIpv4 } from './address.js';
import type { Stage } from './scenario.js';

/** Of what was sent, on a busy machine. */
const ARRIVAL_S = 10;
/** Those of `frames.ts`. */
const FRAMES_FILTER = '(tcp or udp) and portrange 20000-27999';
/** Most frames of which a host can say that they arrived. */
export const MOST_ARRIVALS = 10_000;
const LIMITS = { packets: MOST_ARRIVALS, duration_s: 300 };

interface Replay {
  /** Of the application. */
  readonly id: string;
  readonly from: string;
  readonly to: string;
  /** The uploaded capture. */
  readonly capture: string;
  readonly rate_pps: number;
  /** Frames in all. */
  readonly frames: number;
  /** How often the capture is sent. */
  readonly loops?: number;
}

export interface Replayed {
  readonly sent: number;
  /** What tells frames apart: protocol, ports and length. */
  readonly arrived: readonly string[];
}

/** Sends a capture of `frames.ts`, and tells what the receiver saw of it. `expected`: how many frames are to arrive; absent: all. */
export async function replay(stage: Stage, what: Replay, expected?: number): Promise<Replayed> {
  const { api } = stage;
  const { id, from, to, frames, rate_pps, loops = 1 } = what;
  const filter = `src host ${await requireIpv4(api, from)} and ${FRAMES_FILTER}`;
  const { id: capture } = await api.call('startCapture', { body: { host: to, filter, ...LIMITS } });
  const params = { id: capture };
  const config = { pcap_id: what.capture, rate_pps, loops };
  stage.note(`sending ${frames} frames`);
  await stage.make('application', { id, kind: 'pcap-replay', node: from, enabled: true, config });
  const sent = await stage.until('the end of the capture', ARRIVAL_S + (2 * frames) / rate_pps, async () => {
    const { state, metrics, detail } = (await api.call('getApplication', { params: { id } })).status;
    if (state === 'failed') throw new Error(`the capture was not sent: ${detail}`);
    return state === 'completed' ? (metrics.find(({ name }) => name === 'sent')?.value ?? 0) : null;
  });
  const arrivals = async () => (await api.call('getCapture', { params })).packets;
  const least = expected ?? sent;
  const until = performance.now() + 1000 * ARRIVAL_S;
  await stage.until('the arrival of the frames', 2 * ARRIVAL_S, async () =>
    (await arrivals()).length >= least || performance.now() > until ? true : null,
  );
  await api.call('stopCapture', { params });
  return { sent, arrived: (await arrivals()).map(signatureOf) };
}

const signatureOf = ({ protocol, src_port, dst_port, length }: CaptureStatus['packets'][number]): string =>
  `${protocol} ${src_port} > ${dst_port}, ${length} bytes`;

/** How many frames arrived with one and not with the other. */
export function framesApart(one: Pick<Replayed, 'arrived'>, other: Pick<Replayed, 'arrived'>): number {
  const left = new Map<string, number>();
  for (const each of one.arrived) left.set(each, (left.get(each) ?? 0) + 1);
  for (const each of other.arrived) left.set(each, (left.get(each) ?? 0) - 1);
  return [...left.values()].reduce((sum, count) => sum + Math.abs(count), 0);
}
