import { Inject, Injectable } from '@nestjs/common';
import { BOARDS, type BoardView } from '../../ports/board-view.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { EXCLUSIONS, type Exclusions } from '../../ports/exclusions.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';

/** What pools stand in: plans, agents, boards and what is out of service. */
@Injectable()
export class Surroundings {
  constructor(
    @Inject(DEPLOYMENT_VIEW) private readonly deployments: DeploymentView,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(BOARDS) private readonly boards: BoardView,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(EXCLUSIONS) private readonly exclusions: Exclusions,
  ) {}

  /** The same text as long as nothing of it changes. */
  now(): string {
    const { infrastructure, revision } = this.infrastructure.current;
    const connected = infrastructure.servers.map(({ id }) => this.fleet.isConnected(id));
    const { servers, boards, lost_servers } = this.exclusions;
    const plans = [this.deployments.plan?.id, this.deployments.comingPlan?.id];
    return JSON.stringify([revision, plans, connected, this.boards.broken(), servers, boards, lost_servers]);
  }

  /** `changed`: called when something of it changes; `goesOn`: when an operation goes on and nothing of it does. */
  onChange(changed: () => void, goesOn: () => void): void {
    let known = this.now();
    const lookOr = (otherwise: () => void) => () => {
      const now = this.now();
      if (now === known) return otherwise();
      known = now;
      changed();
    };
    const look = lookOr(() => undefined);
    this.deployments.onChange(lookOr(goesOn));
    this.fleet.onChange(look);
    this.boards.onChange(look);
    this.infrastructure.onChange(look);
    this.exclusions.onChange(look);
  }
}
