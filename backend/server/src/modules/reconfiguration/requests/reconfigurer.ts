import { Inject, Injectable } from '@nestjs/common';
import {
  type BoardPlace,
  type NfMove,
  type NfRef,
  nfInstances,
  PlanRequest,
  type Reconfiguration,
  type ReconfigurationRequest,
} from '@orrery/contract';
import { newId } from '../../../platform/ids.js';
import { conflict, invalid } from '../../../platform/problem.js';
import { BOARDS, type BoardView } from '../../../ports/board-view.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../../ports/deployment-view.js';
import { chainResource, LEASES, type LeaseBook } from '../../../ports/lease-book.js';
import { LENDERS, type Lenders } from '../../../ports/lenders.js';
import { PLANS, type PlanStore } from '../../../ports/plan-store.js';
import type { Cause, FormerPlace, Reconfigurer } from '../../../ports/reconfigurer.js';
import { asFailure } from '../conduct/change-maker.js';
import { changesOf } from '../conduct/changes.js';
import { Conductor } from '../conduct/conductor.js';
import type { Course } from '../conduct/course.js';
import { begun, noStages } from '../conduct/stages.js';
import {
  type Decision,
  decide,
  decideBack,
  decideHome,
  decideLeaving,
  inSlotOf,
  touchedBy,
} from '../decision/decision.js';
import { boardOf, nameOf } from '../places.js';
import { stageEvents, started } from '../records/events.js';
import { Records } from '../records/records.js';
import { References } from './references.js';

type How = Pick<BoardPlace, 'load' | 'policy'>;

/** Turns a request into a decision, and starts it if no other reconfiguration holds its resources. */
@Injectable()
export class ReconfigurationRequests implements Reconfigurer {
  constructor(
    @Inject(PLANS) private readonly plans: PlanStore,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(BOARDS) private readonly boards: BoardView,
    @Inject(LEASES) private readonly leases: LeaseBook,
    @Inject(References) private readonly references: References,
    @Inject(Records) private readonly records: Records,
    @Inject(Conductor) private readonly conductor: Conductor,
    @Inject(LENDERS) private readonly lenders: Lenders,
  ) {}

  async request(request: ReconfigurationRequest, cause: Cause): Promise<Reconfiguration> {
    this.references.require(request, request.to);
    this.leases.requireFree(wantedOf(request.nf));
    const here = boardOf(this.view.comingPlan, request.nf);
    if (request.to === 'software' && !here)
      throw invalid([{ pointer: '/to', detail: 'already runs in software', code: 'no-change' }]);
    if (request.to === 'board' && here && (!request.slot || nameOf(request.slot) === nameOf(here)))
      throw invalid([{ pointer: '/slot', detail: `is already on ${nameOf(here)}`, code: 'no-change' }]);
    return this.begin(await this.decide(request), cause, request);
  }

  async back(nf: NfRef, moves: readonly NfMove[], cause: Cause): Promise<Reconfiguration | null> {
    const plan = this.view.comingPlan;
    const here = boardOf(plan, nf);
    return here ? this.begin(decideBack(plan, nf, moves, here), cause, here) : null;
  }

  async home(nf: NfRef, { on, server, instance }: FormerPlace, cause: Cause): Promise<Reconfiguration | null> {
    this.leases.requireFree(wantedOf(nf));
    const plan = this.view.comingPlan;
    const here = boardOf(plan, nf);
    if (!here) return null;
    const there = decideHome(plan, nf, on, [{ instance, server }]);
    const [change] = changesOf(there);
    const request = PlanRequest.parse(change!.request);
    const found = await this.plans.lookAhead(request, plan, this.view.comingDrivers).catch(asFailure);
    const hasRoom = !('failed' in found) && found.feasible;
    return this.begin(hasRoom ? there : decideHome(plan, nf, on), cause, here);
  }

  async leaveBroken(cause: Cause): Promise<Reconfiguration | null> {
    const plan = this.view.comingPlan;
    const broken = new Set(this.boards.broken().map(nameOf));
    const lost = nfInstances(plan?.graph).filter(
      (it) => it.board && broken.has(nameOf(it.board)) && this.holderOf(it) === null,
    );
    const [first] = lost;
    return first ? this.begin(decideLeaving(plan, lost), cause, first.board!) : null;
  }

  holderOf({ chain_id }: Pick<NfRef, 'chain_id'>): string | null {
    return this.leases.conflictOf(wantedOf({ chain_id }))?.holder ?? null;
  }

  find(id: string): Reconfiguration | undefined {
    return this.records.find(id);
  }

  onEnd(listener: (run: Reconfiguration) => void): void {
    this.records.onEnd(listener);
  }

  /** Nothing is displaced while there is room. If no slot is named, one is selected here so that it can be leased. */
  private async decide(request: ReconfigurationRequest): Promise<Decision> {
    const plan = this.view.comingPlan;
    const gently = decide(plan, { ...request, displaces: [] });
    if (request.to === 'software' || request.slot) return decide(plan, request);
    const [change] = changesOf(gently);
    const found = await this.plans.lookAhead(PlanRequest.parse(change!.request), plan, this.view.comingDrivers);
    return found.feasible ? inSlotOf(gently, found) : decide(plan, request);
  }

  private async begin(decision: Decision, cause: Cause, how: How): Promise<Reconfiguration> {
    const refusal = cause.cause === 'fallback' ? null : this.lenders.refusalOfMoves(decision.moves);
    if (refusal !== null) throw conflict(refusal);
    const run = newRun(decision, cause, how, Date.now());
    const loads = this.boards.accelerators().map(({ id, last_load }) => [id, last_load] as const);
    const course: Course = {
      decision,
      by: cause.by,
      priority: cause.priority,
      plan_before: this.view.comingPlan?.id ?? null,
      loads_before: Object.fromEntries(loads),
      failure: null,
    };
    try {
      await this.records.begin(run, course, touchedBy(decision), started(run, cause.by), ...stageEvents(null, run));
    } finally {
      // A stored run is carried out even if the store's reply was lost.
      this.conductor.carryOut(run.id);
    }
    return run;
  }
}

/** Resources that a move of an NF must lease. */
function wantedOf({ chain_id }: Pick<NfRef, 'chain_id'>) {
  return { claim: 'change', holder: '', resources: [chainResource(chain_id)] } as const;
}

function newRun(decision: Decision, { cause, trigger, policy_id }: Cause, { load, policy }: How, nowMs: number) {
  const run: Reconfiguration = {
    id: newId('rc'),
    policy_id,
    cause,
    trigger,
    state: 'running',
    slot: decision.slot,
    load,
    policy,
    moves: [...decision.moves],
    stages: noStages(),
    loads: [],
    packets_lost: null,
    detail: null,
    started_ms: nowMs,
    ended_ms: null,
  };
  return begun(run, 'detection', nowMs, { detail: trigger });
}
