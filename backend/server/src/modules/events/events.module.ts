import { Controller, Global, Inject, Module, Res } from '@nestjs/common';
import { type Event, isAbout, isMarked, type RouteInput, StreamId } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { METRICS, type Metrics } from '../../platform/metrics.js';
import { badMarker, linkNext, makeMarker, readMarker } from '../../platform/paging.js';
import { ProblemError } from '../../platform/problem.js';
import { STORE, type Store } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import { Input, Route } from '../../platform/route.js';
import { EVENT_LOG, EVENT_SOURCE } from '../../ports/event-log.js';
import { mayBeMarked, readEvents } from './event-codec.js';
import { EventTail } from './event-tail.js';
import { EventWriter } from './event-writer.js';

const SCAN = 1000;
/** Reads of the log for one answer to what charts mark, at most. */
const MOST_MARK_READS = 20;

/** Nothing lies beyond the highest id, or before the lowest: Redis refuses these intervals. */
function orNone<T>(reading: Promise<T[]>): Promise<T[]> {
  return reading.catch((error: Error) => {
    if (/invalid (start|end) ID for the interval/.test(error.message)) return [];
    throw error;
  });
}

@Controller()
class EventsController {
  constructor(
    @Inject(STORE) private readonly store: Store,
    @Inject(METRICS) private readonly metrics: Metrics,
    @Inject(EventTail) private readonly tail: EventTail,
  ) {}

  @Route('listEvents')
  async list(@Input() { query }: RouteInput<'listEvents'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const newestFirst = query.order === 'newest-first';
    const marker = query.nextpage_opaque_marker ? readMarker(query.nextpage_opaque_marker) : undefined;
    if (marker !== undefined && !StreamId.safeParse(marker).success) throw badMarker();
    if (query.after && !newestFirst && marker === undefined && (await this.tail.endsBefore(query.after))) {
      const detail = 'is behind the end of the log: another log had it, or nobody has yet';
      throw new ProblemError(400, `The parameter "after" ${detail}.`, [{ pointer: '/after', detail }]);
    }
    let cursor = marker ?? (newestFirst ? undefined : query.after);
    const items: Event[] = [];
    const about = query.about === undefined ? null : new Set(query.about.split(','));
    const matches = (event: Event) =>
      (!query.type || event.type === query.type) &&
      (!query.subject || event.subject === query.subject) &&
      (!query.severity || event.severity === query.severity) &&
      (!query.marked || isMarked(event)) &&
      (!about || isAbout(event, about));
    const answer = async (lookedAtMs: number | null = null) => {
      const [total, begins_ms] = await Promise.all([this.store.redis.xlen(KEYS.events), this.tail.beginsMs()]);
      return { items, total, begins_ms: lookedAtMs ?? begins_ms };
    };
    for (let reads = 1; ; reads++) {
      const lowest = newestFirst && query.after ? `(${query.after}` : '-';
      const entries = await orNone(
        newestFirst
          ? this.store.redis.xrevrange(KEYS.events, cursor ? `(${cursor}` : '+', lowest, 'COUNT', SCAN)
          : this.store.redis.xrange(KEYS.events, cursor ? `(${cursor}` : '-', '+', 'COUNT', SCAN),
      );
      const chosen = query.marked ? entries.filter(mayBeMarked) : entries;
      for (const event of readEvents(chosen, this.metrics)) {
        if (!matches(event)) continue;
        if (items.length === query.limit) {
          linkNext(reply, makeMarker(items.at(-1)!.id));
          return answer();
        }
        items.push(event);
      }
      if (entries.length < SCAN) return answer();
      cursor = entries.at(-1)![0];
      if (query.marked && newestFirst && reads === MOST_MARK_READS) {
        linkNext(reply, makeMarker(cursor));
        return answer(Number(cursor.split('-')[0]));
      }
    }
  }
}

@Global()
@Module({
  controllers: [EventsController],
  providers: [
    EventTail,
    { provide: EVENT_SOURCE, useExisting: EventTail },
    EventWriter,
    { provide: EVENT_LOG, useExisting: EventWriter },
  ],
  exports: [EVENT_LOG, EVENT_SOURCE],
})
export class EventsModule {}
