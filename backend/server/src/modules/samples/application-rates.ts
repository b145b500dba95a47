import {
  APPLICATION_SERIES,
  type ApplicationMetricName,
  type ObservedApplication,
  SAMPLE_METRICS,
  sampleKey,
} from '@orrery/contract';

/** After this time a report with unchanged figures counts as new: nothing was counted since. */
const QUIET_MS = 2000;

interface Stand {
  readonly start: string;
  readonly atMs: number;
  readonly metrics: ObservedApplication['metrics'];
}

/**
 * Turns what the applications of one supervisor measured into series. A supervisor reports all of them whenever one of them
 * has news, so equal figures say nothing yet. Counts begin at zero with each start of a program.
 */
export class ApplicationRates {
  private before: ReadonlyMap<string, Stand> = new Map();

  take(applications: readonly ObservedApplication[], nowMs: number): (readonly [key: string, value: number])[] {
    const stands = new Map<string, Stand>();
    const values = applications.flatMap((application) => {
      const { id, metrics, state } = application;
      const start = `${application.revision} ${application.restarts}`;
      const last = this.before.get(id);
      const past = last?.start === start ? last : undefined;
      const isOld = past && sameFigures(past.metrics, metrics) && nowMs - past.atMs < QUIET_MS;
      stands.set(id, isOld ? past : { start, atMs: nowMs, metrics });
      return isOld || state !== 'running' ? [] : sampled(id, metrics, past, nowMs);
    });
    this.before = stands;
    return values;
  }
}

function sampled(id: string, metrics: Stand['metrics'], past: Stand | undefined, nowMs: number) {
  return Object.entries(metrics).flatMap(([name, value]): (readonly [string, number])[] => {
    // A supervisor of another version may measure what this one does not know.
    if (!Object.hasOwn(APPLICATION_SERIES, name)) return [];
    const series = APPLICATION_SERIES[name as ApplicationMetricName];
    const key = sampleKey('application', id, series);
    if (SAMPLE_METRICS.application[series].unit !== 'per_s') return [[key, value]];
    if (!past) return [];
    // What was taken for lost may still arrive.
    const growth = Math.max(0, value - (past.metrics[name] ?? 0));
    return [[key, (growth * 1000) / Math.max(nowMs - past.atMs, 1)]];
  });
}

function sameFigures(a: Stand['metrics'], b: Stand['metrics']): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}
