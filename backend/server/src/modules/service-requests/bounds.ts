import { Inject, Injectable } from '@nestjs/common';
import type { RequestBounds } from '../../ports/request-bounds.js';
import { PoolView } from './pool-view.js';
import { Pools } from './pools.js';
import { Requests } from './requests.js';
import { isUnderWay } from './stored.js';

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
    const late = this.pools.all().flatMap((pool) => {
      const { name } = pool.definition;
      const underWay = this.requests.heldOf(name).filter(isUnderWay);
      return this.view.lateWith(pool, underWay, servers).map(({ id }) => `${name}/${id}`);
    });
    return late.sort();
  }
}
