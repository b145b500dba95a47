import type { LoadThreshold, NfRef } from '@orrery/contract';

export const NF_LOADS = Symbol('NfLoads');

export type LoadMetric = LoadThreshold['metric'];

/** Loads of NFs. */
export interface NfLoads {
  /** Sum over all running instances of the NF over the last seconds; null: no recent measurement. */
  of(nf: NfRef, metric: LoadMetric): number | null;
}
