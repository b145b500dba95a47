import type { z } from 'zod';
import type { ApplicationMetricName, NodeKind } from './application.js';

/** A port that a program occupies on its node. `pointer` points at the field of the definition that sets it. */
export interface Listener {
  readonly protocol: 'tcp' | 'udp';
  readonly port: number;
  readonly pointer: string;
}

/** What an application kind declares; the rest of the product reads it here. */
export interface ApplicationKind<K extends string, C extends z.ZodObject> {
  readonly kind: K;
  readonly title: string;
  readonly description: string;
  readonly runs_on: readonly NodeKind[];
  readonly config: C;
  readonly metrics: readonly ApplicationMetricName[];
  /** Ports that no other application of the node may use. */
  listens(config: z.output<C>): readonly Listener[];
}

/** Preserves the literal types of kind and configuration. */
export const defineKind = <const K extends string, C extends z.ZodObject>(
  kind: ApplicationKind<K, C>,
): ApplicationKind<K, C> => kind;
