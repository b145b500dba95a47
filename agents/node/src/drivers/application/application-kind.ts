import type { ApplicationSpec } from '@orrery/contract';

export type KindName = ApplicationSpec['definition']['kind'];
export type Metrics = Readonly<Record<string, number>>;

/** What a kind declares about its program, for the supervisor. */
export interface ServerApplication<Config> {
  readonly kind: KindName;
  /** Exit status 0 means that its work is done. */
  readonly ends: boolean;
  /** Throws if it cannot run as declared. `address` is that of its destination. */
  command(config: Config, address: string | null): readonly [string, ...string[]];
  /** Whether it works now, as the program itself reports. */
  responds(config: Config, output: string): Promise<boolean>;
  /** What the end of its output reports; null: nothing yet. */
  metrics(output: string): Metrics | null;
}

export function destination(address: string | null): string {
  if (address === null) throw new Error('its destination has no address');
  return address;
}
