import { Inject, Injectable } from '@nestjs/common';
import { type Instance, nfInstances, type Plan, sampleKey } from '@orrery/contract';
import type { MeasuredLoad, UpkeepGain } from '@orrery/planner';
import { TELEMETRY, type Telemetry } from '../../ports/telemetry.js';

/** Over which the mean is taken, at most. */
const MOST_WINDOW_MS = 60_000;
/** Fewer points are no mean. */
const LEAST_POINTS = 3;
/** Instances between two turns of the event loop. */
const AT_ONCE = 50;
/** Another mean of the same rates, or a gain for them, differs by less. */
const SAME = 0.05;
/** Rates below are none. */
const NOTHING_BPS = 1000;

/** Means of what instances carry and take of their cores. */
@Injectable()
export class UpkeepLoads {
  constructor(@Inject(TELEMETRY) private readonly telemetry: Telemetry) {}

  /** Of all instances of the plan that were measured over the time before `nowMs`. */
  async measuredBefore({ graph }: Plan, windowMs: number, nowMs: number): Promise<MeasuredLoad[]> {
    const loads: MeasuredLoad[] = [];
    const since = nowMs - Math.min(windowMs, MOST_WINDOW_MS);
    for (const [index, instance] of nfInstances(graph).entries()) {
      if (index % AT_ONCE === AT_ONCE - 1) await new Promise(setImmediate);
      const load = this.loadOf(instance, since);
      if (load) loads.push(load);
    }
    return loads;
  }

  /** Flows in progress at these instances; null: nobody tracks them. */
  flowsAt(instances: readonly string[]): number | null {
    const counts = instances.flatMap((id) => this.telemetry.newest(sampleKey('instance', id, 'flows'), 10_000) ?? []);
    return counts.length === 0 ? null : Math.round(counts.reduce((a, b) => a + b, 0));
  }

  private loadOf({ id }: Instance, since: number): MeasuredLoad | null {
    const keys = [sampleKey('instance', id, 'bps'), sampleKey('instance', id, 'cpu')];
    const [bps, core_share] = keys.map((key) => {
      const points = this.telemetry.series([key], since).flatMap((series) => series.points);
      return points.length < LEAST_POINTS ? null : points.reduce((sum, [, value]) => sum + value, 0) / points.length;
    }) as [number | null, number | null];
    return bps === null ? null : { instance: id, bps, core_share };
  }
}

/** Whether two measurements say the same. */
export function sameLoads(a: readonly MeasuredLoad[], b: readonly MeasuredLoad[]): boolean {
  const before = new Map(a.map((load) => [load.instance, load]));
  return (
    a.length === b.length &&
    b.every(({ instance, bps, core_share }) => {
      const was = before.get(instance);
      return (
        was !== undefined && near(was.bps, bps, NOTHING_BPS) && near(was.core_share ?? 0, core_share ?? 0, SAME / 5)
      );
    })
  );
}

/** Whether two gains say the same. */
export function sameGain(a: UpkeepGain, b: UpkeepGain): boolean {
  return (
    a.objectives === b.objectives &&
    a.overloaded_cores === b.overloaded_cores &&
    near(a.cross_traffic_bps, b.cross_traffic_bps, NOTHING_BPS) &&
    near(a.cross_traffic_percent, b.cross_traffic_percent, 0) &&
    near(a.cores, b.cores, SAME / 5)
  );
}

function near(a: number, b: number, nothing: number): boolean {
  return Math.abs(a - b) <= Math.max(nothing, SAME * Math.max(Math.abs(a), Math.abs(b)));
}
