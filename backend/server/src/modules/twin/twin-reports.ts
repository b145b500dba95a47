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
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { TELEMETRY_SINK, type TelemetrySink } from '../../ports/telemetry.js';
import { TwindClient } from './twind-client.js';

type TwinEvent = Extract<TwinWatchLine, { type: 'event' }>;

/** While the twin is up, twind reports its links five times a second. */
const SILENT_MS = 2000;

/** Not a valid node name. */
const TWIN = '(twin)';

/** Forwards the reports of twind. */
@Injectable()
export class TwinReports {
  /** Its last reported state; null: no report since it started. */
  state: TwinState | null = null;
  /** When twind last reported; monotonic clock. */
  private heardMs = 0;
  private readonly stateListeners: (() => void)[] = [];
  private readonly applicationListeners: ((observed: ObservedApplications) => void)[] = [];

  constructor(
    @Inject(LOG) private readonly log: Log,
    @Inject(METRICS) private readonly metrics: Metrics,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(TELEMETRY_SINK) private readonly telemetry: TelemetrySink,
    @Inject(TwindClient) private readonly client: TwindClient,
  ) {}

  onState(listener: () => void): void {
    this.stateListeners.push(listener);
  }

  /** Why twind counts as hung, though it runs; null: it reports. */
  get hang(): string | null {
    const silentMs = performance.now() - this.heardMs;
    if (this.state?.phase !== 'up' || this.state.links.length === 0 || silentMs < SILENT_MS) return null;
    return `twind has not reported for ${Math.floor(silentMs / 1000)} s`;
  }

  /** Called with each report on the applications of emulated hosts. */
  onApplications(listener: (observed: ObservedApplications) => void): void {
    this.applicationListeners.push(listener);
  }

  /** Resolves when twind ends the stream; rejects if the stream breaks or on abort. */
  async follow(signal: AbortSignal): Promise<void> {
    for await (const line of this.client.lines('/watch', signal)) {
      const parsed = TwinWatchLine.safeParse(line);
      if (parsed.success) this.take(parsed.data);
      else this.log.warn({ line }, 'twind sent an invalid message');
    }
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
    const known = toEventDraft(TwinEventType.options, { ...told, type: event, data: {} });
    if (known) return known;
    this.metrics.eventsUnknown.inc({ source: 'twin' });
    return { ...told, type: 'twin.event', data: { event } };
  }
}
