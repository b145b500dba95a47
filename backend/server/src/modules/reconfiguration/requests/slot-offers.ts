import { Inject, Injectable } from '@nestjs/common';
import {
  type Accelerator,
  type LoadKind,
  type NfRef,
  nfInstances,
  type Plan,
  PlanRequest,
  type ReconfigurationRequest,
  type SlotOffer,
  type SlotRef,
} from '@orrery/contract';
import { Mutex } from '../../../platform/mutex.js';
import { ProblemError, unavailable } from '../../../platform/problem.js';
import { BOARDS, type BoardView } from '../../../ports/board-view.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../../ports/deployment-view.js';
import { LENDERS, type Lenders } from '../../../ports/lenders.js';
import { PLANS, type PlanStore } from '../../../ports/plan-store.js';
import { changesOf } from '../conduct/changes.js';
import { decide } from '../decision/decision.js';
import { boardOf, instancesOf, sameNf, sameSlot } from '../places.js';
import { References } from './references.js';

/** Slots that are planned for one question; those beyond are offered unchecked. */
const MOST_PLANNED = 48;
/** Of a question, with its wait for those before it; what is not planned by then is offered unchecked. */
const LIMIT_MS = 10_000;
/** Of one plan. */
const PLAN_LIMIT_S = 5;
const MOST_WAITING = 16;

export interface SlotQuestion {
  /** Null: every deployed NF that boards can run. */
  readonly nf: NfRef | null;
  readonly load: LoadKind;
  /** Other slots are left out. */
  readonly only?: Partial<SlotRef>;
}

type Verdict = Pick<SlotOffer, 'verdict' | 'problem' | 'conflict'>;

const POSSIBLE: Verdict = { verdict: 'possible', problem: null, conflict: null };
const refused = (problem: string): Verdict => ({ verdict: 'refused', problem, conflict: null });
const unchecked = (problem: string): Verdict => ({ verdict: 'unchecked', problem, conflict: null });

/** Which slots could take an NF now, by the plans that a request for each would lead to. */
@Injectable()
export class SlotOffers {
  /** A question has one plan in the planner's queue, and all questions together have no more. */
  private readonly turns = new Mutex();
  private waiting = 0;

  constructor(
    @Inject(PLANS) private readonly plans: PlanStore,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(BOARDS) private readonly boards: BoardView,
    @Inject(References) private readonly references: References,
    @Inject(LENDERS) private readonly lenders: Lenders,
  ) {}

  /**
   * Throws 422 for an NF that is not deployed, or runs on no board, and 503 if too many questions wait. What a slot runs may be
   * displaced. Nothing more is planned once the caller is `gone`.
   */
  async of(asked: SlotQuestion, gone: AbortSignal): Promise<SlotOffer[]> {
    if (this.waiting >= MOST_WAITING) throw unavailable('Too many questions about slots wait; try again soon.');
    const over = AbortSignal.any([gone, AbortSignal.timeout(LIMIT_MS)]);
    this.waiting++;
    try {
      return await this.turns.run(() => this.answer(asked, over));
    } finally {
      this.waiting--;
    }
  }

  private async answer({ nf: named, load, only = {} }: SlotQuestion, over: AbortSignal): Promise<SlotOffer[]> {
    if (named) this.references.require({ nf: named, slot: null, displaces: [] }, 'board', [], '');
    const plan = this.view.comingPlan;
    const nfs = named ? [named] : this.references.boardNfs();
    const known = new Map<string, Verdict>();
    const offers: SlotOffer[] = [];
    for (const { nf, board, at } of this.pairs(nfs, only)) {
      const displaces = usersOf(plan, at, load).filter((each) => !sameNf(each, nf));
      const key = `${nf.chain_id} ${nf.node_id} ${alikeKey(board, at, displaces)}`;
      let verdict = withoutPlan(plan, nf, board, at) ?? known.get(key);
      if (!verdict && known.size >= MOST_PLANNED) verdict = unchecked(`no more than ${MOST_PLANNED} slots are planned`);
      if (!verdict) {
        verdict = await this.planned(plan, { nf, slot: at, load, displaces }, over);
        known.set(key, verdict);
      }
      offers.push({ nf, ...at, displaces, ...verdict });
    }
    return offers;
  }

  private pairs(nfs: readonly NfRef[], only: Partial<SlotRef>) {
    const slots = this.boards
      .accelerators()
      .flatMap((board) => board.slots.map(({ slot }) => ({ board, at: { board: board.id, slot } })))
      .filter(({ at }) => (only.board ?? at.board) === at.board && (only.slot ?? at.slot) === at.slot);
    return nfs.flatMap((nf) => slots.map((each) => ({ nf, ...each })));
  }

  /** As the server would decide on the request. */
  private async planned(
    plan: Plan | null,
    asked: Pick<ReconfigurationRequest, 'nf' | 'load' | 'displaces'> & { slot: SlotRef },
    over: AbortSignal,
  ): Promise<Verdict> {
    let base = plan;
    const decision = decide(plan, { ...asked, to: 'board', policy: 'hold' });
    const lent = this.lenders.refusalOfMoves(decision.moves);
    if (lent !== null) return refused(lent);
    for (const { request } of changesOf(decision)) {
      if (over.aborted) return unchecked(`not every slot was planned within ${LIMIT_MS / 1000} s`);
      const change = PlanRequest.parse({ ...request, time_limit_s: PLAN_LIMIT_S });
      const next = await this.plans.tryOut(change, base, this.view.comingDrivers).catch(reasonOf);
      if (typeof next === 'string') return unchecked(next);
      base = next;
      if (base.feasible) continue;
      const [problem] = base.problems.filter(({ severity }) => severity === 'error');
      const [conflict = null] = base.conflicts;
      return { verdict: 'refused', problem: problem?.message ?? null, conflict: problem ? null : conflict };
    }
    return POSSIBLE;
  }
}

/** Why there is no plan, without fields of the request for it, which nobody made. */
function reasonOf(error: unknown): string {
  if (!(error instanceof ProblemError)) throw error;
  const [first] = error.errors;
  if (first?.code === 'out-of-time') return `its plan takes longer than ${PLAN_LIMIT_S} s`;
  return first?.detail ?? error.message;
}

/** What needs no plan. */
function withoutPlan(plan: Plan | null, nf: NfRef, accelerator: Accelerator, at: SlotRef): Verdict | null {
  const { title, description, slots } = accelerator;
  const here = boardOf(plan, nf);
  const { nf: module } = instancesOf(plan, nf)[0]!;
  if (here && sameSlot(here, at)) return refused('the NF is already in this slot');
  if (description && !description.modules.includes(module)) return refused(`${title} has no bitstream of ${module}`);
  if (slots.find(({ slot }) => slot === at.slot)?.state === 'faulty')
    return unchecked('the slot is faulty, and only a load shows whether it works again');
  return null;
}

/** NFs that a load of the slot takes out of it; a full load replaces every slot of the board. */
function usersOf(plan: Plan | null, at: SlotRef, load: LoadKind): NfRef[] {
  const there = nfInstances(plan?.graph).filter(
    ({ board }) => board && (load === 'full' ? board.board === at.board : sameSlot(board, at)),
  );
  return there.map(({ chain_id, node_id }) => ({ chain_id, node_id }));
}

/** Of a board beside an engine, slots that run nothing are alike; at a switch each has links of its own. */
function alikeKey({ id, switches, slots }: Accelerator, { slot }: SlotRef, displaces: readonly NfRef[]): string {
  const { state, reservation } = slots.find((each) => each.slot === slot)!;
  const alike = switches.length === 0 && displaces.length === 0 && state === 'empty' && reservation === null;
  return alike ? id : `${id} ${slot}`;
}
