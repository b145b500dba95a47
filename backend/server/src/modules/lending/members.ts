import { Inject, Injectable } from '@nestjs/common';
import {
  acceleratorName,
  type ElementState,
  type Instance,
  type LentAccelerator,
  type NfRef,
  nfInstances,
  type Origin,
} from '@orrery/contract';
import { unavailable } from '../../platform/problem.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { ELEMENT_MANAGERS, type ElementManagers } from '../../ports/element-managers.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import type { StoredGroup } from './groups.js';
import { SoftwareCost } from './software-cost.js';

/** A VNF of a group. */
export interface Member {
  readonly id: string;
  readonly nf: NfRef;
  readonly server: string;
  readonly origin: Origin;
  /** Null: its element manager does not say. */
  readonly state: ElementState | null;
  /** Share of its maximum; null: not measured lately. */
  readonly usage: number | null;
  readonly can: readonly string[];
}

/** The VNFs of groups, and what their element managers say and do. */
@Injectable()
export class LendingMembers {
  private readonly cost = new SoftwareCost();

  constructor(
    @Inject(ELEMENT_MANAGERS) private readonly managers: ElementManagers,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(FLEET) private readonly fleet: NodeFleet,
  ) {}

  /** Running instances of the group that can switch, and those of `holding` that run, whatever is known of them. */
  of(group: StoredGroup, holding: ReadonlySet<string>, nowMs: number): Member[] {
    const states = new Map(this.managers.all().map((state) => [state.instance_id, state]));
    this.cost.keepOnly(new Set(states.keys()));
    return this.instances()
      .filter((it) => belongs(group, it) && (states.has(it.id) || holding.has(it.id)))
      .map((it) => {
        const state = states.get(it.id) ?? null;
        const { chain_id, node_id, server } = it;
        return {
          id: it.id,
          nf: { chain_id, node_id },
          server,
          origin: this.fleet.originOf(server),
          state,
          usage: state && this.usageOf(group, state, nowMs),
          can: group.accelerators.filter((each) => canUse(state, server, each)).map(acceleratorName),
        };
      });
  }

  nfOf(instanceId: string): NfRef | null {
    const instance = this.instances().find(({ id }) => id === instanceId);
    return instance ? { chain_id: instance.chain_id, node_id: instance.node_id } : null;
  }

  stateOf(instanceId: string): ElementState | null {
    return this.managers.state(instanceId);
  }

  /** Whether what its element manager says is of now. */
  isHeard(instanceId: string): boolean {
    const server = this.instances().find(({ id }) => id === instanceId)?.server;
    return this.stateOf(instanceId) !== null && (server === undefined || this.fleet.hasConnection(server));
  }

  /** Whether it runs no more, so that it has no accelerator. */
  isGone(instanceId: string): boolean {
    return this.stateOf(instanceId) === null && this.nfOf(instanceId) === null;
  }

  /** Whether its server answers. */
  answers({ server }: LentAccelerator): boolean {
    return this.fleet.hasConnection(server);
  }

  /** Resolves when its element manager says so; throws if it refuses or does not answer. */
  async switchTo(instanceId: string, accelerated: boolean, signal: AbortSignal): Promise<void> {
    const state = await (accelerated
      ? this.managers.accelerate(instanceId, signal)
      : this.managers.release(instanceId, signal));
    if (state.accelerated !== accelerated)
      throw unavailable(`${instanceId} is still ${accelerated ? 'not accelerated' : 'accelerated'}.`);
  }

  private instances(): Instance[] {
    return nfInstances(this.view.plan?.graph);
  }

  private usageOf({ usage, max_bps }: StoredGroup, state: ElementState, nowMs: number): number | null {
    const cores = this.cost.coresOf(state, nowMs);
    if (usage === 'bps') return state.bps === null || max_bps === null ? null : state.bps / max_bps;
    return cores === null ? null : cores / (state.cpu_limit ?? 1);
  }
}

function belongs({ chains, nfs }: StoredGroup, { chain_id, node_id }: NfRef): boolean {
  return chains.includes(chain_id) || nfs.some((nf) => nf.chain_id === chain_id && nf.node_id === node_id);
}

function canUse(state: ElementState | null, at: string, { kind, server }: LentAccelerator): boolean {
  return state !== null && server === at && state.kinds.includes(kind);
}
