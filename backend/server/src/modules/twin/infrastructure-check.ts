import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { FieldError, Infrastructure, TwinSpec } from '@orrery/contract';
import { ProblemError } from '../../platform/problem.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { isEmulated, TwinDemand } from './twin-demand.js';
import { TwinKeeper } from './twin-keeper.js';
import { TwindClient } from './twind-client.js';

/** Asks twind whether it can build an infrastructure before it is stored. A twin that does not answer does not block it. */
@Injectable()
export class InfrastructureCheck implements OnApplicationBootstrap {
  constructor(
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(TwinDemand) private readonly demand: TwinDemand,
    @Inject(TwinKeeper) private readonly keeper: TwinKeeper,
    @Inject(TwindClient) private readonly client: TwindClient,
  ) {}

  onApplicationBootstrap(): void {
    if (this.demand.enabled) this.infrastructure.checkBy((infrastructure) => this.errorsOf(infrastructure));
  }

  private async errorsOf(infrastructure: Infrastructure): Promise<readonly FieldError[]> {
    if (!isEmulated(infrastructure)) return [];
    return this.demand.during(async () => ((await this.keeper.comesUp()) ? this.ask(infrastructure) : []));
  }

  private async ask(infrastructure: Infrastructure): Promise<readonly FieldError[]> {
    const spec: TwinSpec = { generation: 0, infrastructure, agents: null };
    try {
      await this.client.json('POST', '/spec/check', spec);
      return [];
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      if (error.status !== 422) return [];
      return error.errors.map((each) => ({ ...each, pointer: each.pointer.replace(/^\/infrastructure/, '') }));
    }
  }
}
