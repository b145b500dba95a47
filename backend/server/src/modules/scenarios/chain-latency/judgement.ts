import { cpus } from 'node:os';
import type { ScenarioFigure } from '@orrery/contract';

/** The prediction assumes that each worker finds a free core: it does if the machine is busy for less than this share. */
export const QUIET_BELOW = 0.5;

/** Bar of the ratio of measured to predicted latency; without a bar, the reason why the ratio is not judged. */
export function judgementOf(tolerance: number, busyShare: number): Pick<ScenarioFigure, 'bar' | 'note'> {
  if (busyShare < QUIET_BELOW) return { bar: { least: 1 - tolerance, most: 1 + tolerance }, note: '' };
  const percent = `${Math.round(busyShare * 100)} %`;
  return {
    bar: null,
    note: `not judged: the machine was busy for ${percent} of the time, and the prediction assumes free cores`,
  };
}

/** Returns a function that tells for which share of the time since then the cores of this machine were busy. */
export function observeCores(timesNow: () => CoreTimes = coreTimes): () => number {
  const before = timesNow();
  return () => {
    const now = timesNow();
    const total_ms = now.total_ms - before.total_ms;
    return total_ms > 0 ? 1 - (now.idle_ms - before.idle_ms) / total_ms : 0;
  };
}

interface CoreTimes {
  readonly idle_ms: number;
  readonly total_ms: number;
}

function coreTimes(): CoreTimes {
  const all = cpus().map(({ times }) => times);
  return {
    idle_ms: all.reduce((sum, { idle }) => sum + idle, 0),
    total_ms: all.reduce((sum, { user, nice, sys, idle, irq }) => sum + user + nice + sys + idle + irq, 0),
  };
}
