import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { CONFIG, type Config } from '../../platform/config.js';
import type { ControlLoop } from '../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { LoopRun, RunOutcome } from '../../platform/control-loop/definition.js';
import { type Batch, COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import { Lateness } from './lateness.js';
import { isTooLong, PoolView } from './pool-view.js';
import { Pools } from './pools.js';
import { type RequestEvent, Requests } from './requests.js';
import { isUnderWay, type StoredRequest } from './stored.js';

/** Periods in a row in which a bound is missed until the request is late, and in which it is not until it is late no more. */
const LATE_PERIODS = 5;
const KEPT_PERIODS = 10;
const BACKOFF = { firstMs: 500, mostMs: 10_000 };
const DEADLINE_MS = 10_000;

/** Tells which requests get less than they were accepted for. */
@Injectable()
export class BoundWatch implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: ControlLoop;
  private readonly periodMs: number;
  private readonly lateness: Lateness;
  /** No request is under way. */
  private isIdle = true;

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(CONFIG) config: Config,
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(Pools) private readonly pools: Pools,
    @Inject(Requests) private readonly requests: Requests,
    @Inject(PoolView) private readonly view: PoolView,
  ) {
    this.periodMs = config.timing.sloPeriodMs;
    this.lateness = new Lateness(LATE_PERIODS * this.periodMs, KEPT_PERIODS * this.periodMs);
    this.loop = loops.add({
      id: 'service-request-bounds',
      title: 'Bounds of service requests',
      purpose: 'Compares the measured latencies of service requests with their bounds.',
      tickMs: null,
      backoff: BACKOFF,
      deadlineMs: DEADLINE_MS,
      onPause: () => this.lateness.forget(),
      run: (run) => this.run(run),
    });
  }

  onApplicationBootstrap(): void {
    this.requests.onChange(() => {
      if (this.isIdle) this.loop.wake();
    });
    this.loop.wake();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  private async run({ decide, step }: LoopRun): Promise<RunOutcome | undefined> {
    this.isIdle = false;
    const judged = this.underWay();
    const { late, kept } = this.lateness.judge(judged, performance.now());
    if (late.length + kept.length > 0) {
      const inputs = { late: late.length, kept: kept.length };
      const what = late.length > 0 ? `Call ${late.length} requests late` : `Call ${kept.length} requests late no more`;
      decide({ subject: 'service-requests', what, why: 'by their measured latencies', inputs, told: true });
      await step(
        this.collections.commit((batch) => {
          this.changeIn(batch, late, 'active', { state: 'late' }, 'service-request.late');
          const well = { state: 'active' as const, why: null, shortages: [], nearest_us: null };
          this.changeIn(batch, kept, 'late', well, 'service-request.active');
        }),
      );
    }
    this.isIdle = judged.length === 0;
    return this.isIdle ? undefined : { again: this.periodMs };
  }

  /** Where no latency is measured, a request stays what it is. */
  private underWay() {
    return this.pools.all().flatMap((pool) => {
      const latencyOf = this.view.measuredLatencies(pool);
      return this.requests
        .heldOf(pool.definition.name)
        .filter(isUnderWay)
        .map((request) => {
          const us = latencyOf(request.way);
          const misses = us === null ? null : isTooLong(us, request);
          return { id: request.id, isLate: request.state === 'late', misses };
        });
    });
  }

  private changeIn(
    batch: Batch,
    ids: readonly string[],
    from: StoredRequest['state'],
    change: Partial<StoredRequest>,
    event: RequestEvent,
  ): void {
    const those = ids.flatMap((id) => this.requests.find(id) ?? []).filter(({ state }) => state === from);
    this.requests.changeIn(batch, those, change, event);
  }
}
