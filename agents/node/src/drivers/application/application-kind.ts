import type { ApplicationSpec } from '@orrery/contract';
import type { z } from 'zod';

export type KindName = ApplicationSpec['definition']['kind'];
export type Metrics = Readonly<Record<string, number>>;

/** What a kind declares about its program, for the supervisor. */
export interface ServerApplication<Config> {
  readonly kind: KindName;
  readonly config: z.ZodType<Config>;
  /** Exit status 0 means that its work is done. */
  readonly ends: boolean;
  /** Throws if it cannot run as declared. `address` is that of its destination. */
  command(config: Config, address: string | null): readonly [string, ...string[]];
  /** Whether it works now, as the program itself reports. */
  responds(config: Config, output: string): Promise<boolean>;
  /** What the end of its output reports; null: nothing yet. */
  metrics(output: string): Metrics | null;
  /** Figures of a program whose output has not changed for so long; null: its last ones stay true. */
  readonly idle: { readonly after_ms: number; readonly metrics: Metrics } | null;
}

/** A kind with the configuration of one application. */
export interface Program extends Pick<ServerApplication<object>, 'ends' | 'metrics' | 'idle'> {
  /** `left_s`: how long it is to run, instead of its configured duration; null: as configured. */
  command(address: string | null, left_s: number | null): readonly [string, ...string[]];
  responds(output: string): Promise<boolean>;
}

/** Throws if this is no configuration of the kind. */
export type Configure = (config: unknown) => Program;

export function configurable<Config extends object>(kind: ServerApplication<Config>): readonly [KindName, Configure] {
  const { ends, metrics, idle } = kind;
  const configure = (given: unknown): Program => {
    const config = kind.config.parse(given);
    return {
      ends,
      metrics,
      idle,
      command: (address, left_s) => kind.command(left_s === null ? config : { ...config, duration_s: left_s }, address),
      responds: (output) => kind.responds(config, output),
    };
  };
  return [kind.kind, configure];
}

export function destination(address: string | null): string {
  if (address === null) throw new Error('its destination has no address');
  return address;
}
