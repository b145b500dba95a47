import { Inject, Injectable } from '@nestjs/common';
import type { WayBound } from '@orrery/planner';
import type { RequestBounds } from '../../ports/request-bounds.js';
import { PoolView } from './pool-view.js';
import { Pools } from './pools.js';
import { Requests } from './requests.js';
import { type HoldingRequest, isUnderWay, type StoredPool } from './stored.js';

/** The latencies that requests were accepted for, beside those that they get or would get. */
@Injectable()
export class Bounds implements RequestBounds {
  constructor(
    @Inject(Pools) private readonly pools: Pools,
    @Inject(Requests) private readonly requests: Requests,
    @Inject(PoolView) private readonly view: PoolView,
  ) {}

  missedWith(moved: Parameters<RequestBounds['missedWith']>[0]): string[] {
    const servers = new Map(moved.map(({ instance, to }) => [instance, to]));
    const late = this.pools
      .all()
      .flatMap((pool) =>
        this.view.lateWith(pool, this.underWayOf(pool), servers).map(({ id }) => `${pool.definition.name}/${id}`),
      );
    return late.sort();
  }

  ways(): WayBound[] {
    return this.pools.all().flatMap((pool) => {
      const underWay = this.underWayOf(pool);
      return underWay.length === 0 ? [] : boundedWays(this.view.stateOf(pool, underWay, []).all, underWay);
    });
  }

  private underWayOf({ definition }: StoredPool): HoldingRequest[] {
    return this.requests.heldOf(definition.name).filter(isUnderWay);
  }
}

type Placed = Pick<ReturnType<PoolView['stateOf']>['all'][number], 'id' | 'instance_id' | 'place' | 'latency_us'>;

/** The ways of the requests, each with the tightest of their bounds; not those through an instance that does not run. */
export function boundedWays(
  all: readonly Placed[],
  requests: readonly Pick<HoldingRequest, 'way' | 'latency_us'>[],
): WayBound[] {
  const stops = new Map(
    all.flatMap(({ id, instance_id: instance, place, latency_us }) =>
      instance === null || place === null || latency_us === null
        ? []
        : [[id, { instance, place, latency_us }] as const],
    ),
  );
  const bounds = new Map<number, WayBound>();
  for (const { way, latency_us } of requests) {
    const found = way.stages.flatMap(({ instance }) => stops.get(instance) ?? []);
    if (found.length < way.stages.length) continue;
    const most_us = Math.min(latency_us, bounds.get(way.number)?.most_us ?? latency_us);
    bounds.set(way.number, { most_us, stops: found });
  }
  return [...bounds.values()];
}
