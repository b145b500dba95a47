import type { AcceleratedMode, CpuFeature, InstanceSpec, ObservedElement } from '@orrery/contract';

type Config = InstanceSpec['config'];

/** What an instance was last switched to, in place of what its configuration says. */
export interface Switched {
  readonly accelerated: boolean;
  /** Wall-clock time, for display. */
  readonly at_ms: number;
}

/** The configuration with which it does what it was switched to. */
export function switchedConfig(config: Config, mode: AcceleratedMode, { accelerated }: Switched): Config {
  return { ...config, [mode.setting]: accelerated ? mode.accelerated : mode.plain };
}

/** Whether it is accelerated: as it was switched last, or else as its configuration says. */
export function isAccelerated(config: Config, mode: AcceleratedMode, switched: Switched | null): boolean {
  return switched?.accelerated ?? config[mode.setting] === mode.accelerated;
}

/** What the node tells of an instance; null: it cannot be switched. */
export function elementOf(
  { acceleration: mode, config, cpu_limit }: Pick<InstanceSpec, 'acceleration' | 'config' | 'cpu_limit'>,
  switched: Switched | null,
  features: readonly CpuFeature[],
): ObservedElement | null {
  if (!mode) return null;
  return {
    accelerated: isAccelerated(config, mode, switched),
    kinds: lackOf(mode, features).length === 0 ? [mode.kind] : [],
    cpu_limit: cpu_limit ?? null,
    switched_ms: switched?.at_ms ?? null,
  };
}

/** What the processor lacks for it. */
export function lackOf({ cpu_features }: AcceleratedMode, features: readonly CpuFeature[]): CpuFeature[] {
  return cpu_features.filter((feature) => !features.includes(feature));
}
