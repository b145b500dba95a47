import { cpus } from 'node:os';

/** Returns a function that tells for which share of the time since then the cores of this machine were busy. */
export function observeCores(timesNow: () => CoreTimes = coreTimes): () => number {
  const before = timesNow();
  return () => {
    const now = timesNow();
    const total_ms = now.total_ms - before.total_ms;
    return total_ms > 0 ? 1 - (now.idle_ms - before.idle_ms) / total_ms : 0;
  };
}

/** A share as text, e.g. `93 %`. */
export function percentOf(share: number): string {
  return `${Math.round(share * 100)} %`;
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
