import type { InstanceSpec } from '@orrery/contract';
import type { Change } from '../drivers/nf-driver.js';

export type Step =
  | { kind: 'start-engine'; reason: string }
  | { kind: 'realize'; driver: InstanceSpec['driver']; change: Change; reason: string };

/** The last step that failed, and when it may be retried. */
export interface Failure {
  generation: number;
  message: string;
  instance_id: string | null;
  not_before_ms: number;
}

export const noChange: Change = { deploy: [], configure: [], destruct: [], wiring: null };
