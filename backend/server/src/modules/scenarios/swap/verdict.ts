import type { LoadKind, ScenarioFigure } from '@orrery/contract';
import { percentOf } from '../busy-cores.js';

export const SOURCE = 'CoNFV Fig. 9';

/** CoNFV VI: 12 s and 2.5 s, mostly spent on the loads. */
export const PUBLISHED_S: Readonly<Record<LoadKind, number>> = { partial: 2.5, full: 12 };
/** The publication says *about*. */
const SLOWEST_TO_PUBLISHED = 1.2;

/**
 * Seconds of a reconfiguration, from trigger to response; `null`: nobody noted its end. The bar holds however busy the machine is; its load is told beside
 * it, because all but the load of the device takes longer on a busy machine.
 */
export function durationFigure(load: LoadKind, seconds: number | null, busyShare: number) {
  return {
    name: `${load} reconfiguration`,
    unit: 's',
    published: PUBLISHED_S[load],
    here: seconds,
    source: SOURCE,
    modelled: true,
    bar: { least: null, most: SLOWEST_TO_PUBLISHED * PUBLISHED_S[load] },
    note: `trigger to response; the load time is modelled on the device, the rest is measured on this machine, whose cores were busy for ${percentOf(busyShare)} of the time`,
  } satisfies Partial<ScenarioFigure>;
}
