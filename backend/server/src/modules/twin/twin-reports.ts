import { Inject, Injectable } from '@nestjs/common';
import {
  type EventDraft,
  type ObservedApplications,
  TwinEventType,
  type TwinState,
  TwinWatchLine,
  toEventDraft,
} from '@orrery/contract';
import { LOG, type Log } from '../../platform/log.js';
import { METRICS, type Metrics } from '../../platform/metrics.js';
import { CHAINS_ON_NODES, type ChainsOnNodes } from '../../ports/chains-on-nodes.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { TELEMETRY_SINK, type TelemetrySink } from '../../ports/telemetry.js';
import { TwindClient } from './twind-client.js';

type TwinEvent = Extract<TwinWatchLine, { type: 'event' }>;

/** In every phase, twind reports at least twice a second. */
const SILENT_MS = 2000;
/** Even a busy machine does not delay it for so long. */
const HUNG_MS = 15_000;
const WATCH_MS = 500;

/** twind runs, but has been silent for so long that it must be restarted. */
export class TwinHung extends Error {}

/** Not a valid node name. */
const TWIN = '(twin)';

/** Forwards the reports of twind. */
@Injectable()
export class TwinReports {
  /** Its last reported state; null: no report since it started. */
  state: TwinState | null = null;
  /** When twind last reported; monotonic clock. Null: its reports are not followed. */
  private heardMs: number | null = null;
  private readonly stateListeners: (() => void)[] = [];
  private readonly applicationListeners: ((observed: ObservedApplications) => void)[] = [];

  constructor(
    @Inject(LOG) private readonly log: Log,
    @Inject(METRICS) private readonly metrics: Metrics,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(TELEMETRY_SINK) private readonly telemetry: TelemetrySink,
    @Inject(TwindClient) private readonly client: TwindClient,
    @Inject(CHAINS_ON_NODES) private readonly chains: ChainsOnNodes,
  ) {}

  onState(listener: () => void): void {
    this.stateListeners.push(listener);
  }

  /** Why the last report is stale, though twind runs; null: it reports. */
  get hang(): string | null {
    const { silentMs } = this;
    return silentMs < SILENT_MS ? null : `twind has not reported for ${Math.floor(silentMs / 1000)} s`;
  }

  private get silentMs(): number {
    return this.heardMs === null ? 0 : performance.now() - this.heardMs;
  }

  /** Called with each report on the applications of emulated hosts. */
  onApplications(listener: (observed: ObservedApplications) => void): void {
    this.applicationListeners.push(listener);
  }

  /** Resolves when twind ends the stream; rejects if the stream breaks, on abort, and with TwinHung. */
  async follow(signal: AbortSignal): Promise<void> {
    const hung = new AbortController();
    this.heardMs = performance.now();
    const watch = this.watchSilence((error) => hung.abort(error));
    try {
      for await (const line of this.client.lines('/watch', AbortSignal.any([signal, hung.signal]))) {
        const parsed = TwinWatchLine.safeParse(line);
        if (parsed.success) this.take(parsed.data);
        else this.log.warn({ line }, 'twind sent an invalid message');
      }
    } catch (error) {
      hung.signal.throwIfAborted();
      throw error;
    } finally {
      clearInterval(watch);
      this.heardMs = null;
    }
  }

  /** Tells listeners when twind falls silent and when it reports again; calls `end` when it counts as hung. */
  private watchSilence(end: (error: TwinHung) => void): NodeJS.Timeout {
    let lookedMs = performance.now();
    let wasSilent = false;
    return setInterval(() => {
      const passedMs = performance.now() - lookedMs;
      lookedMs += passedMs;
      // While the server itself stalls, it hears nobody.
      if (this.heardMs !== null && passedMs > 2 * WATCH_MS) this.heardMs = Math.min(this.heardMs + passedMs, lookedMs);
      const { hang } = this;
      if ((hang !== null) !== wasSilent) for (const listener of this.stateListeners) listener();
      wasSilent = hang !== null;
      if (hang !== null && this.silentMs >= HUNG_MS) end(new TwinHung(hang));
    }, WATCH_MS);
  }

  private take(line: TwinWatchLine): void {
    this.heardMs = performance.now();
    switch (line.type) {
      case 'state':
        this.state = line.state;
        for (const listener of this.stateListeners) listener();
        return;
      case 'links':
        if (this.state) this.state = { ...this.state, links: line.links };
        this.telemetry.takeLinks(line.links);
        return;
      case 'applications':
        this.telemetry.takeApplications(TWIN, 'twin', line.observed);
        for (const listener of this.applicationListeners) listener(line.observed);
        return;
      case 'event':
        this.events.append(this.draftOf(line));
        return;
    }
  }

  private draftOf({ event, subject, message, t_ms }: TwinEvent): EventDraft {
    const told = { subject, message, t_ms, actor: 'twin' };
    const data = { chains: this.chains.ranAt(subject, t_ms) };
    const known = toEventDraft(TwinEventType.options, { ...told, type: event, data });
    if (known) return known;
    this.metrics.eventsUnknown.inc({ source: 'twin' });
    return { ...told, type: 'twin.event', data: { event } };
  }
}
