import { Inject, Injectable } from '@nestjs/common';
import { acceleratorNamed, nfInstances, type Origin } from '@orrery/contract';
import { isEligible, type LendingCandidate } from '@orrery/planner';
import { unavailable } from '../../platform/problem.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { ELEMENT_MANAGERS, type ElementManagers } from '../../ports/element-managers.js';
import { EXCLUSIONS, type Exclusions } from '../../ports/exclusions.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import type { Accelerate } from './accelerate.js';
import type { Holding } from './ledger.js';

/** Crypto instructions of servers: the element manager of a VNF switches it where it runs. */
@Injectable()
export class ByElementManager implements Accelerate {
  readonly isCertain = false;

  constructor(
    @Inject(ELEMENT_MANAGERS) private readonly managers: ElementManagers,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(EXCLUSIONS) private readonly exclusions: Exclusions,
  ) {}

  originOf(accelerator: string): Origin {
    return this.fleet.originOf(serverOf(accelerator));
  }

  fits(vnf: LendingCandidate, accelerator: string): boolean {
    return isEligible(vnf, acceleratorNamed(accelerator), []);
  }

  answers(accelerator: string): boolean {
    return this.fleet.hasConnection(serverOf(accelerator));
  }

  works(accelerator: string): boolean {
    const { servers, lost_servers } = this.exclusions;
    return ![...servers, ...lost_servers].includes(serverOf(accelerator));
  }

  /** In a group or not, as its element manager says. */
  userOf(accelerator: string): string | null {
    const server = serverOf(accelerator);
    const states = this.managers.all().filter(({ accelerated }) => accelerated);
    const ids = new Set(states.map(({ instance_id }) => instance_id));
    return this.instances().find((it) => it.server === server && ids.has(it.id))?.id ?? null;
  }

  has({ vnf }: Holding): boolean | null {
    return this.managers.state(vnf)?.accelerated ?? null;
  }

  isHeard(holding: Holding): boolean {
    return this.isPlannedFor(holding) && this.has(holding) !== null && this.answers(holding.accelerator);
  }

  isPlannedFor({ vnf, accelerator }: Holding): boolean {
    const server = serverOf(accelerator);
    return this.instances().some((it) => it.id === vnf && it.server === server);
  }

  /** As the agent of the server tells. */
  isStopped({ vnf, accelerator }: Holding): boolean {
    const server = serverOf(accelerator);
    if (!this.fleet.hasPlace(server)) return true;
    const seen = this.fleet.hasConnection(server) ? this.fleet.observed(server) : null;
    return (
      seen !== null && !seen.instances.some(({ id, state, element }) => id === vnf && state === 'running' && element)
    );
  }

  hindrance(): null {
    return null;
  }

  async switchTo({ vnf }: Pick<Holding, 'vnf'>, accelerated: boolean, signal: AbortSignal): Promise<void> {
    const state = await (accelerated ? this.managers.accelerate(vnf, signal) : this.managers.release(vnf, signal));
    if (state.accelerated !== accelerated)
      throw unavailable(`${vnf} is still ${accelerated ? 'not accelerated' : 'accelerated'}.`);
  }

  private instances() {
    return nfInstances(this.view.plan?.graph);
  }
}

function serverOf(accelerator: string): string {
  const named = acceleratorNamed(accelerator);
  return named.kind === 'instructions' ? named.server : '';
}
