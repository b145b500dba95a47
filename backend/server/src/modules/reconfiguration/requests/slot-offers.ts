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
import { BOARDS, type BoardView } from '../../../ports/board-view.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../../ports/deployment-view.js';
import { PLANS, type PlanStore } from '../../../ports/plan-store.js';
import { changesOf } from '../conduct/changes.js';
import { decide } from '../decision/decision.js';
import { boardOf, instancesOf, sameNf, sameSlot } from '../places.js';
import { References } from './references.js';

/** Slots that are planned for one question; those beyond are offered unchecked. */
const MOST_PLANNED = 48;

type Verdict = Pick<SlotOffer, 'verdict' | 'problem' | 'conflict'>;

const POSSIBLE: Verdict = { verdict: 'possible', problem: null, conflict: null };
const UNCHECKED: Verdict = { ...POSSIBLE, verdict: 'unchecked' };
const refused = (problem: string): Verdict => ({ verdict: 'refused', problem, conflict: null });

/** Which slots could take an NF now, by the plans that a request for each would lead to. */
@Injectable()
export class SlotOffers {
  constructor(
    @Inject(PLANS) private readonly plans: PlanStore,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(BOARDS) private readonly boards: BoardView,
    @Inject(References) private readonly references: References,
  ) {}

  /** Throws 422 for an NF that is not deployed, or runs on no board. What a slot runs may be displaced. */
  async of(nf: NfRef, load: LoadKind, only: Partial<SlotRef> = {}): Promise<SlotOffer[]> {
    this.references.require({ nf, slot: null, displaces: [] }, 'board', [], '');
    const plan = this.view.comingPlan;
    const known = new Map<string, Verdict>();
    const offers: SlotOffer[] = [];
    for (const board of this.boards.accelerators())
      for (const { slot } of board.slots) {
        const at = { board: board.id, slot };
        if ((only.board ?? at.board) !== at.board || (only.slot ?? slot) !== slot) continue;
        const displaces = usersOf(plan, at, load).filter((each) => !sameNf(each, nf));
        const key = alikeKey(board, at, displaces);
        const verdict =
          withoutPlan(plan, nf, board, at) ??
          known.get(key) ??
          (known.size < MOST_PLANNED ? await this.planned(plan, { nf, slot: at, load, displaces }) : UNCHECKED);
        known.set(key, verdict);
        offers.push({ ...at, displaces, ...verdict });
      }
    return offers;
  }

  /** As the server would decide on the request. */
  private async planned(
    plan: Plan | null,
    asked: Pick<ReconfigurationRequest, 'nf' | 'load' | 'displaces'> & { slot: SlotRef },
  ): Promise<Verdict> {
    let base = plan;
    for (const { request } of changesOf(decide(plan, { ...asked, to: 'board', policy: 'hold' }))) {
      base = await this.plans.lookAhead(PlanRequest.parse(request), base, this.view.comingDrivers);
      if (base.feasible) continue;
      const [problem] = base.problems.filter(({ severity }) => severity === 'error');
      const [conflict = null] = base.conflicts;
      return { verdict: 'refused', problem: problem?.message ?? null, conflict: problem ? null : conflict };
    }
    return POSSIBLE;
  }
}

/** What needs no plan. */
function withoutPlan(plan: Plan | null, nf: NfRef, { title, description }: Accelerator, at: SlotRef): Verdict | null {
  const here = boardOf(plan, nf);
  const { nf: module } = instancesOf(plan, nf)[0]!;
  if (here && sameSlot(here, at)) return refused('it is already there');
  if (description && !description.modules.includes(module)) return refused(`${title} has no bitstream of ${module}`);
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
