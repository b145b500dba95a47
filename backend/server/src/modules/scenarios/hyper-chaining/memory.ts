import type { ServicePool } from '@orrery/contract';
import type { Form } from './slas.js';
import type { Served } from './strawman.js';

export interface Measured {
  /** By the model when it was chosen. */
  readonly predicted_us: number;
  /** Of probes, each over a second, by seconds since packets took the way: median, and p99 above it. */
  readonly median_us: readonly [number, number][];
  readonly jitter_us: readonly [number, number][];
  readonly instances: string;
  readonly deployed_s: number;
}

/** What the steps leave for the report. */
export interface Memory {
  address: string;
  pool: ServicePool;
  typical_us: number;
  transit_us: number;
  decided: { readonly ms: number; readonly accepted: number; readonly shares: [number, number][] };
  enforced_s: number;
  accepted: number;
  software: Record<Form, Measured>;
  onBoards: Record<Form, Measured>;
  hyper: Served;
  strawman: Served;
  busyShare: number;
}
