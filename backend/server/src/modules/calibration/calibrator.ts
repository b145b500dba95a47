import type { Calibration, Infrastructure, Overhead } from '@orrery/contract';
import type { MeasuredOverhead } from '@orrery/planner';
import { OverheadRecord } from './overhead-record.js';

/** A new estimate is used if it differs by more than this share, or after `RENEW_MS`: plans change no more often. */
const LEAST_CHANGE = 0.05;
const RENEW_MS = 300_000;

/** All servers of the twin run on one machine and are measured as one. */
const TWIN = { of: 'twin' } as const;

/** Collects measured overheads, and decides when they replace those in use. Memory: some kB for each server. */
export class Calibrator {
  private readonly ofServers = new Map<string, OverheadRecord>();
  private ofTwin = new OverheadRecord();
  private ofHops = new OverheadRecord();

  constructor(public current: Calibration) {}

  /** One window of a chain that runs steadily. `t_ms`: its end. */
  add(measured: MeasuredOverhead, packets: number, t_ms: number, { servers }: Infrastructure): void {
    const { mean_us, sd_us } = measured;
    const window = { mean_us, sd_us, packets, t_ms };
    if (measured.of === 'hop') {
      this.ofHops.add(window);
      return;
    }
    const places = new Set(measured.servers.map((id) => placeOf(id, servers)));
    for (const place of places) this.recordOf(place).add(window);
  }

  /** Takes over what has changed enough; whether anything has. */
  renew({ servers }: Infrastructure): boolean {
    for (const id of this.ofServers.keys()) if (!servers.some((server) => server.id === id)) this.ofServers.delete(id);
    const entries = Object.fromEntries(
      servers.flatMap(({ id }) => {
        const chosen = chosenOf(this.current.entries[id], this.recordOf(placeOf(id, servers)).estimate());
        return chosen ? [[id, chosen]] : [];
      }),
    );
    const hop = chosenOf(this.current.hop, this.ofHops.estimate()) ?? null;
    const ids = (of: Calibration['entries']) => Object.keys(of).sort().join(' ');
    const same =
      hop === this.current.hop &&
      ids(entries) === ids(this.current.entries) &&
      Object.entries(entries).every(([id, each]) => each === this.current.entries[id]);
    if (!same) this.current = { entries, hop };
    return !same;
  }

  private recordOf(place: string | typeof TWIN): OverheadRecord {
    if (place === TWIN) return this.ofTwin;
    const id = place as string;
    const record = this.ofServers.get(id) ?? new OverheadRecord();
    this.ofServers.set(id, record);
    return record;
  }
}

function placeOf(id: string, servers: Infrastructure['servers']): string | typeof TWIN {
  return servers.find((server) => server.id === id)?.origin === 'twin' ? TWIN : id;
}

function chosenOf(used: Overhead | null | undefined, now: Overhead | null): Overhead | null | undefined {
  if (!used || !now) return used ?? now;
  const differs = (a: number, b: number) => Math.abs(a - b) > LEAST_CHANGE * b;
  const changed =
    differs(now.mean_us, used.mean_us) ||
    differs(now.sd_us, used.sd_us) ||
    now.measured_ms - used.measured_ms >= RENEW_MS;
  return changed ? now : used;
}
