import { Calibration, type Overhead } from '@orrery/contract';

export const NOT_CALIBRATED: Calibration = Calibration.parse({});

/**
 * Mean of what the first packet of a core that slept waits beyond its service: caches are cold and the worker has to run
 * again. Exponential; measured in the twin on a quiet machine (docs/benchmarks.md, chain latency).
 */
export const WAKE_UP_US = 8;

/** Engine to switch to engine without the links' own delay: two port crossings and one rule. */
export const FABRIC_HOP_US = 50;

/** A time by its mean and its standard deviation between packets. */
export interface Spread {
  readonly mean_us: number;
  readonly sd_us: number;
}

/** What packets take beyond service, queues and links. */
export interface Overheads {
  /** Until a sleeping core of the server takes up a packet that enters it. */
  entry(server: string): Spread;
  readonly hop: Spread;
}

/** What single windows are expected to show: most lie between `low` and `high`. */
export type Edge = 'low' | 'expected' | 'high';

/** Machines that were measured differ by about this factor from the built-in figures. */
const UNKNOWN_FACTOR = 2;
/** Robust standard deviations between windows on either side: about 95 % of the windows of a normal variable. */
const DEVIATIONS = 2;
/** Width of a bucket of the histograms that calibration reads: nothing is known more exactly. */
const RESOLUTION = 1 / 16;

/** From the calibration, or the built-in figures where it has none. */
export function overheadsOf(calibration: Calibration = NOT_CALIBRATED, edge: Edge = 'expected'): Overheads {
  const entries = new Map(Object.entries(calibration.entries).map(([server, of]) => [server, measured(of, edge)]));
  const unknown = builtIn({ mean_us: WAKE_UP_US, sd_us: WAKE_UP_US }, edge);
  return {
    entry: (server) => entries.get(server) ?? unknown,
    hop: calibration.hop ? measured(calibration.hop, edge) : builtIn({ mean_us: FABRIC_HOP_US, sd_us: 0 }, edge),
  };
}

function measured({ mean_us, mean_error_us, sd_us, sd_error_us }: Overhead, edge: Edge): Spread {
  const at = (value: number, error: number) => {
    const width = Math.max(DEVIATIONS * error, RESOLUTION * value);
    return Math.max(0, value + { low: -width, expected: 0, high: width }[edge]);
  };
  return { mean_us: at(mean_us, mean_error_us), sd_us: at(sd_us, sd_error_us) };
}

function builtIn({ mean_us, sd_us }: Spread, edge: Edge): Spread {
  const factor = { low: 1 / UNKNOWN_FACTOR, expected: 1, high: UNKNOWN_FACTOR }[edge];
  return { mean_us: factor * mean_us, sd_us: factor * sd_us };
}

/** What the figures of these servers come from: `calibrated on server-1: 12,400 packets until 2026-11-23 03:10 UTC`. */
export function calibrationText({ entries, hop }: Calibration, servers: readonly string[], crosses: boolean): string {
  const known = servers.flatMap((server) => (entries[server] ? [`${server}: ${sourceOf(entries[server])}`] : []));
  const parts = crosses && hop ? [...known, `between servers: ${sourceOf(hop)}`] : known;
  const missing = [
    ...servers.filter((server) => !entries[server]),
    ...(crosses && !hop ? ['the way between servers'] : []),
  ];
  if (parts.length === 0) return 'not calibrated on these machines: built-in figures';
  const built_in = missing.length > 0 ? `; built-in figures for ${missing.join(', ')}` : '';
  return `calibrated on ${parts.join('; ')}${built_in}`;
}

function sourceOf({ packets, measured_ms }: Overhead): string {
  const date = new Date(measured_ms).toISOString().slice(0, 16).replace('T', ' ');
  return `${packets.toLocaleString('en-US')} packets until ${date} UTC`;
}
