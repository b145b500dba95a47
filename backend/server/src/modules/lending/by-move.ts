import { Inject, Injectable } from '@nestjs/common';
import {
  acceleratorName,
  acceleratorNamed,
  type BoardNode,
  type Instance,
  type NfRef,
  nfInstances,
  type Origin,
  type Plan,
  type Reconfiguration,
  type SlotRef,
} from '@orrery/contract';
import { isEligible, type LendingCandidate } from '@orrery/planner';
import { conflict } from '../../platform/problem.js';
import { BOARDS, type BoardView } from '../../ports/board-view.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { EXCLUSIONS, type Exclusions } from '../../ports/exclusions.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { boardResource, chainResource, LEASES, type LeaseBook } from '../../ports/lease-book.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { type Cause, RECONFIGURER, type Reconfigurer, USUAL_PRIORITY } from '../../ports/reconfigurer.js';
import type { Accelerate } from './accelerate.js';
import type { Holding } from './ledger.js';

/** Slots of boards: a reconfiguration moves the VNF there, with its state, and back. What plans say is certain. */
@Injectable()
export class ByMove implements Accelerate {
  readonly isCertain = true;
  /** Who waits for the end of a reconfiguration, by its id. */
  private readonly waiting = new Map<string, (run: Reconfiguration) => void>();

  constructor(
    @Inject(RECONFIGURER) private readonly reconfigurer: Reconfigurer,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(BOARDS) private readonly boards: BoardView,
    @Inject(EXCLUSIONS) private readonly exclusions: Exclusions,
    @Inject(LEASES) private readonly leases: LeaseBook,
  ) {
    reconfigurer.onEnd((run) => this.waiting.get(run.id)?.(run));
  }

  originOf(accelerator: string): Origin {
    return this.boardOf(accelerator)?.origin ?? 'twin';
  }

  fits(vnf: LendingCandidate, accelerator: string): boolean {
    const { boards } = this.infrastructure.current.infrastructure;
    const offered = boards.map((board) => {
      const { id, server } = board;
      return { ...board, modules: this.fleet.boardOf(server, id)?.modules ?? null };
    });
    return isEligible(vnf, acceleratorNamed(accelerator), offered);
  }

  answers(accelerator: string): boolean {
    const board = this.boardOf(accelerator);
    return board !== undefined && this.fleet.hasConnection(board.server);
  }

  works(accelerator: string): boolean {
    const board = this.boardOf(accelerator);
    if (!board) return false;
    const { servers, lost_servers, boards } = this.exclusions;
    if ([...servers, ...lost_servers].includes(board.server) || boards.includes(board.id)) return false;
    const state = this.boards.accelerators().find(({ id }) => id === board.id)?.state;
    const isUp = state === 'operating' || state === 'loading';
    return isUp && !this.boards.broken().some((slot) => acceleratorName({ kind: 'slot', ...slot }) === accelerator);
  }

  /** Now, or once accepted operations are done. */
  userOf(accelerator: string): string | null {
    const { view } = this;
    return (instanceIn(view.comingPlan, accelerator) ?? instanceIn(view.plan, accelerator))?.id ?? null;
  }

  has({ accelerator, nf }: Holding): boolean | null {
    if (nf === null || this.reconfigurer.holderOf(nf) !== null) return null;
    const isIn = (plan: Plan | null) => isOf(instanceIn(plan, accelerator), nf);
    const will = isIn(this.view.comingPlan);
    return will === isIn(this.view.plan) ? will : null;
  }

  /** A holder that is elsewhere has lost it, also while its board is away. */
  isHeard(holding: Holding): boolean {
    const has = this.has(holding);
    return has === false || (has === true && this.answers(holding.accelerator));
  }

  isPlannedFor({ nf }: Holding): boolean {
    return isIn(this.view.comingPlan, nf);
  }

  isStopped({ nf }: Holding): boolean {
    return !isIn(this.view.comingPlan, nf) && !isIn(this.view.plan, nf);
  }

  /** Whoever changes the chain or loads the board. */
  hindrance(accelerator: string, { chain_id }: NfRef): string | null {
    const { board } = slotNamed(accelerator);
    const resources = [chainResource(chain_id), boardResource(board)];
    const lease = this.leases.conflictOf({ claim: 'change', holder: '', resources });
    return lease && `The ${lease.purpose} ${lease.holder} is under way.`;
  }

  async switchTo(holding: Holding, accelerated: boolean, signal: AbortSignal): Promise<void> {
    const run = await (accelerated ? this.take(holding) : this.giveBack(holding));
    if (!run) return;
    const { id, state, detail } = await this.ended(run.id, signal);
    if (state !== 'completed') throw conflict(detail ?? `The reconfiguration ${id} was ${state}.`);
  }

  /** Null: it is there. */
  private async take(holding: Holding): Promise<Reconfiguration | null> {
    const { accelerator, nf } = holding;
    if (nf === null || this.has(holding)) return null;
    const asked = { nf, to: 'board', slot: slotNamed(accelerator), load: 'partial', policy: 'hold' } as const;
    return this.reconfigurer.request({ ...asked, displaces: [] }, causeOf(`${accelerator} is lent to it`));
  }

  /** To what it ran as, and where it ran if there is room. Null: it is not there. */
  private async giveBack(holding: Holding): Promise<Reconfiguration | null> {
    const { accelerator, nf, home } = holding;
    const has = this.has(holding);
    if (has === null)
      throw conflict((nf && this.hindrance(accelerator, nf)) ?? 'An operation that moves it is under way.');
    if (!has || nf === null || home === null) return null;
    return this.reconfigurer.home(nf, home, causeOf(`${accelerator} is lent to it no longer`));
  }

  private ended(id: string, signal: AbortSignal): Promise<Reconfiguration> {
    const now = this.reconfigurer.find(id);
    if (now && now.state !== 'running') return Promise.resolve(now);
    let stop = () => {};
    const end = new Promise<Reconfiguration>((resolve, reject) => {
      stop = () => reject(signal.reason);
      this.waiting.set(id, resolve);
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
    });
    return end.finally(() => {
      this.waiting.delete(id);
      signal.removeEventListener('abort', stop);
    });
  }

  private boardOf(accelerator: string): BoardNode | undefined {
    const { board } = slotNamed(accelerator);
    return this.infrastructure.current.infrastructure.boards.find(({ id }) => id === board);
  }
}

function causeOf(trigger: string): Cause {
  return { cause: 'lending', trigger, by: 'lending', policy_id: null, priority: USUAL_PRIORITY };
}

function slotNamed(accelerator: string): SlotRef {
  const named = acceleratorNamed(accelerator);
  return named.kind === 'slot' ? { board: named.board, slot: named.slot } : { board: '', slot: 0 };
}

function instanceIn(plan: Plan | null, accelerator: string): Instance | undefined {
  const { board, slot } = slotNamed(accelerator);
  return nfInstances(plan?.graph).find((it) => it.board?.board === board && it.board.slot === slot);
}

function isOf(instance: Instance | undefined, nf: NfRef): boolean {
  return instance?.chain_id === nf.chain_id && instance.node_id === nf.node_id;
}

function isIn(plan: Plan | null, nf: NfRef | null): boolean {
  return nf !== null && nfInstances(plan?.graph).some((it) => isOf(it, nf));
}
