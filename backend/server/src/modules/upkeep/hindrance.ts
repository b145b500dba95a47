import { Inject, Injectable } from '@nestjs/common';
import type { Plan, UpkeepPolicyRequest } from '@orrery/contract';
import type { Moved } from '@orrery/planner';
import { DEPLOYER, type Deployer } from '../../ports/deployer.js';
import { ELEMENT_MANAGERS, type ElementManagers } from '../../ports/element-managers.js';
import { EXCLUSIONS, type Exclusions } from '../../ports/exclusions.js';
import { acceleratorResource, LEASES, type LeaseBook } from '../../ports/lease-book.js';
import { SCENARIO_VIEW, type ScenarioView } from '../../ports/scenario-view.js';

/** What has precedence over upkeep. */
@Injectable()
export class Hindrance {
  constructor(
    @Inject(DEPLOYER) private readonly deployer: Deployer,
    @Inject(EXCLUSIONS) private readonly exclusions: Exclusions,
    @Inject(LEASES) private readonly leases: LeaseBook,
    @Inject(SCENARIO_VIEW) private readonly scenarios: ScenarioView,
    @Inject(ELEMENT_MANAGERS) private readonly managers: ElementManagers,
  ) {}

  /** Whether an operation is about to change what runs. */
  get isChanging(): boolean {
    return this.deployer.underWay().some(({ set_aside }) => set_aside === null);
  }

  /** Why instances of the plan are not moved by themselves now, as a sentence; null: they may be. */
  of(plan: Plan, moved: readonly Moved[], { quiet_hours }: UpkeepPolicyRequest, hour: number): string | null {
    if (this.isChanging) return 'An operation is under way.';
    const { servers, boards, lost_servers } = this.exclusions;
    const [lost] = lost_servers;
    if (lost !== undefined) return `${lost} is lost.`;
    const [out] = [...servers, ...boards];
    if (out !== undefined) return `${out} is in maintenance.`;
    const split = splitInSteps(plan, moved);
    if (split !== null) return `${split} is split in steps, and its flows do not move.`;
    const lease = this.leases.all().find(({ claim }) => claim === 'change');
    if (lease) return `The ${lease.purpose} ${lease.holder} is under way.`;
    const lent = moved.find((each) => this.isLent(each));
    if (lent) return `${lent.instance} uses an accelerator that is lent to it.`;
    const { running } = this.scenarios;
    if (running !== null) return `The scenario ${running} runs.`;
    return quiet_hours && isWithin(quiet_hours, hour) ? 'It is within the quiet hours.' : null;
  }

  /** Whether it would leave behind what a lending group gave it for a time. */
  private isLent({ instance, from }: Moved): boolean {
    if (!this.managers.state(instance)?.accelerated) return false;
    return this.leases.conflictOf({ claim: 'lend', holder: '', resources: [acceleratorResource(from)] }) !== null;
  }
}

/** An instance that would move although engines keep its flows in progress for it; null: none. */
function splitInSteps({ graph }: Plan, moved: readonly Moved[]): string | null {
  const fronts = graph.nodes.flatMap((node) =>
    node.kind === 'split' && node.in_front_of !== undefined ? [`${node.chain_id} ${node.node_id}`] : [],
  );
  const isIn = new Set(fronts);
  const staged = graph.nodes.filter((node) => 'node_id' in node && isIn.has(`${node.chain_id} ${node.node_id}`));
  return moved.find(({ instance }) => staged.some(({ id }) => id === instance))?.instance ?? null;
}

/** Over midnight where it ends before it begins. */
export function isWithin({ from, to }: NonNullable<UpkeepPolicyRequest['quiet_hours']>, hour: number): boolean {
  return from <= to ? hour >= from && hour < to : hour >= from || hour < to;
}
