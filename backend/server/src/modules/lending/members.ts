import { Inject, Injectable } from '@nestjs/common';
import {
  acceleratorName,
  acceleratorNamed,
  type ElementState,
  type Instance,
  lineageOf,
  type NfRef,
  nfInstances,
  type Origin,
  type SlotRef,
} from '@orrery/contract';
import type { LendingCandidate } from '@orrery/planner';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { DESCRIPTORS, type NfDescriptors } from '../../ports/descriptor-catalogue.js';
import { ELEMENT_MANAGERS, type ElementManagers } from '../../ports/element-managers.js';
import { NF_LOADS, type NfLoads } from '../../ports/nf-loads.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import type { Accelerate } from './accelerate.js';
import { AcceleratorKinds } from './accelerator-kinds.js';
import { belongs, type StoredGroup } from './groups.js';
import { type Home, type Ledger, LendingLedgers, type StoredLoan } from './ledger.js';
import { type Figures, SoftwareCost } from './software-cost.js';

/** A VNF of a group. */
export interface Member extends Pick<Figures, 'cpu_share' | 'bps'> {
  /** Its instance in software, also while it is in a slot that it was lent. */
  readonly id: string;
  readonly nf: NfRef;
  readonly server: string;
  readonly origin: Origin;
  /** In which it is. */
  readonly slot: SlotRef | null;
  /** Null: it has no element manager, or that does not say. */
  readonly state: ElementState | null;
  /** Null: its element manager does not say. */
  readonly accelerated: boolean | null;
  readonly cpu_limit: number | null;
  /** Share of its maximum; null: not measured lately. */
  readonly usage: number | null;
  /** Of the group's accelerators those that it could use if they were free, and of these those that it may get as it runs now. */
  readonly fits: readonly string[];
  readonly can: readonly string[];
  /** Where it is in software. */
  readonly home: Home;
}

/** The VNFs of groups, as their element managers, loads and plans tell of them. */
@Injectable()
export class LendingMembers {
  private readonly cost = new SoftwareCost();

  constructor(
    @Inject(ELEMENT_MANAGERS) private readonly managers: ElementManagers,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(DESCRIPTORS) private readonly catalogue: NfDescriptors,
    @Inject(NF_LOADS) private readonly loads: NfLoads,
    @Inject(LendingLedgers) private readonly ledgers: LendingLedgers,
    @Inject(AcceleratorKinds) private readonly kinds: AcceleratorKinds,
  ) {}

  /** How the accelerator of this name is taken and given back. */
  by(accelerator: string): Accelerate {
    return this.kinds.of(accelerator);
  }

  /**
   * Running instances of the group that can use an accelerator of it, and those that have one of `loans`, whatever is known
   * of them.
   */
  of(group: StoredGroup, { loans }: Pick<Ledger, 'loans'>, nowMs: number): Member[] {
    const states = new Map(this.managers.all().map((state) => [state.instance_id, state]));
    const instances = this.instances();
    this.cost.keepOnly(new Set([...instances.map(({ id }) => id), ...this.ledgers.holders()]));
    const members = new Map<string, Member>();
    for (const instance of instances) {
      if (!belongs(group, instance)) continue;
      const loan = loans.find((each) => isOf(each, instance));
      const member = this.memberOf(group, instance, loan, states.get(instance.id) ?? null, nowMs);
      if (!members.has(member.id) && (member.state || loan || member.fits.length > 0)) members.set(member.id, member);
    }
    return [...members.values()];
  }

  nfOf(instanceId: string): NfRef | null {
    const instance = this.instances().find(({ id }) => id === instanceId);
    return instance ? { chain_id: instance.chain_id, node_id: instance.node_id } : null;
  }

  private memberOf(
    group: StoredGroup,
    instance: Instance,
    loan: StoredLoan | undefined,
    state: ElementState | null,
    nowMs: number,
  ): Member {
    const { chain_id, node_id, server, board } = instance;
    const nf = { chain_id, node_id };
    const id = loan?.vnf ?? instance.id;
    const home = loan?.home ?? homeOf(instance);
    const hasManager = this.catalogue.find(instance.nf)?.acceleration !== undefined;
    const names = group.accelerators.map(acceleratorName);
    const candidate = this.candidateOf(instance, home, state);
    // What runs in a slot by its chain's plan stays there.
    const fits = board && !loan ? [] : names.filter((name) => this.by(name).fits(candidate, name));
    const isAlone = fits.some((name) => acceleratorNamed(name).kind === 'slot');
    const accelerated = board ? true : (state?.accelerated ?? (hasManager ? null : false));
    const figures = this.figuresOf(nf, board !== undefined, isAlone && !hasManager, state);
    const cpu_limit = state?.cpu_limit ?? this.limitOf(instance);
    const isThere = hasManager ? state !== null : this.fleet.isConnected(server);
    return {
      id,
      nf,
      server,
      origin: this.fleet.originOf(server),
      slot: board ? { board: board.board, slot: board.slot } : null,
      state,
      accelerated,
      cpu_limit,
      cpu_share: figures?.cpu_share ?? null,
      bps: figures?.bps ?? null,
      usage: figures && this.usageOf(group, id, figures, cpu_limit, nowMs),
      fits,
      can: board || isThere ? fits : [],
      home,
    };
  }

  private candidateOf({ nf, chain_id, node_id }: Instance, { server }: Home, state: ElementState | null) {
    const candidate: LendingCandidate = {
      server,
      node_id,
      chain: this.view.plan?.chains.find((chain) => chain.chain_id === chain_id) ?? null,
      descriptor: this.catalogue.find(nf) ?? null,
      instances: this.instances().filter((it) => it.chain_id === chain_id && it.node_id === node_id).length,
      kinds: state?.kinds ?? [],
    };
    return candidate;
  }

  /** Null: nothing is known of it. */
  private figuresOf(nf: NfRef, isOnBoard: boolean, isAlone: boolean, state: ElementState | null): Figures | null {
    if (isOnBoard) return { accelerated: true, cpu_share: null, bps: this.loads.of(nf, 'bps') };
    if (state || !isAlone) return state;
    return { accelerated: false, cpu_share: this.loads.of(nf, 'cpu'), bps: this.loads.of(nf, 'bps') };
  }

  /** As its chain says: an instance on a board has none. */
  private limitOf({ chain_id, node_id }: Instance): number | null {
    const chain = this.view.plan?.chains.find((each) => each.chain_id === chain_id);
    const node = chain?.definition.nodes.find(({ id }) => id === node_id);
    return (node?.kind === 'nf' && node.cpu_limit) || null;
  }

  private instances(): Instance[] {
    return nfInstances(this.view.plan?.graph);
  }

  private usageOf(
    { usage, max_bps }: StoredGroup,
    id: string,
    figures: Figures,
    cpu_limit: number | null,
    nowMs: number,
  ): number | null {
    const cores = this.cost.coresOf(id, figures, nowMs);
    if (usage === 'bps') return figures.bps === null || max_bps === null ? null : figures.bps / max_bps;
    return cores === null ? null : cores / (cpu_limit ?? 1);
  }
}

/** Whether the loan is of the VNF that runs as this instance: what moves for it changes its id. */
function isOf({ vnf, nf, home }: StoredLoan, { id, chain_id, node_id }: Instance): boolean {
  return home === null ? vnf === id : nf?.chain_id === chain_id && nf.node_id === node_id;
}

function homeOf({ id, server, driver }: Instance): Home {
  return { on: driver === 'container' ? 'container' : 'software', server, instance: lineageOf(id) };
}
