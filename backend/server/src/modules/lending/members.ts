import { Inject, Injectable } from '@nestjs/common';
import {
  acceleratorName,
  type ElementState,
  type Instance,
  type LentAccelerator,
  type NfRef,
  nfInstances,
  type Origin,
  serverOfAccelerator,
} from '@orrery/contract';
import { unavailable } from '../../platform/problem.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { ELEMENT_MANAGERS, type ElementManagers } from '../../ports/element-managers.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { belongs, type StoredGroup } from './groups.js';
import type { Holding } from './ledger.js';
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

  /** By server: an NF that uses its accelerator, in a group or not, as its element manager says. */
  users(): ReadonlyMap<string, string> {
    const states = this.managers.all().filter(({ accelerated }) => accelerated);
    const ids = new Set(states.map(({ instance_id }) => instance_id));
    const using = this.instances().filter(({ id }) => ids.has(id));
    return new Map(using.map(({ id, server }) => [server, id]));
  }

  /** Whether what the element manager of a holder says is of now. */
  isHeard(holding: Holding): boolean {
    return this.isPlannedFor(holding) && this.stateOf(holding.vnf) !== null && this.answers(holding.accelerator);
  }

  /** Whether the plan has it on the server of the accelerator. */
  isPlannedFor({ vnf, accelerator }: Holding): boolean {
    const server = serverOfAccelerator(accelerator);
    return this.instances().some((it) => it.id === vnf && it.server === server);
  }

  /** Whether the agent of the accelerator's server tells that it does not run this VNF: then it has no accelerator. */
  isStopped({ vnf, accelerator }: Holding): boolean {
    const server = serverOfAccelerator(accelerator);
    if (!this.fleet.hasPlace(server)) return true;
    const seen = this.fleet.hasConnection(server) ? this.fleet.observed(server) : null;
    return (
      seen !== null && !seen.instances.some(({ id, state, element }) => id === vnf && state === 'running' && element)
    );
  }

  /** Whether the server of an accelerator answers. */
  answers(accelerator: string): boolean {
    return this.fleet.hasConnection(serverOfAccelerator(accelerator));
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

function canUse(state: ElementState | null, at: string, { kind, server }: LentAccelerator): boolean {
  return state !== null && server === at && state.kinds.includes(kind);
}
