import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import {
  type BoardPlace,
  type NfMove,
  type NfRef,
  PlanRequest,
  type Reconfiguration,
  type ReconfigurationRequest,
} from '@orrery/contract';
import { newId } from '../../platform/ids.js';
import { LOG, type Log } from '../../platform/log.js';
import { conflict, invalid } from '../../platform/problem.js';
import { BOARDS, type BoardView } from '../../ports/board-view.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { PLANS, type PlanStore } from '../../ports/plan-store.js';
import { Conductor } from './conductor.js';
import { type Course, changesOf } from './course.js';
import { boardOf, type Decision, decide, decideBack, nameOf } from './decision.js';
import { stageEvents, started } from './events.js';
import { Records } from './records.js';
import { References } from './references.js';
import { begun, noStages } from './stages.js';

/** Why a reconfiguration begins, and how important the one who asks is. */
export interface Cause
  extends Pick<Reconfiguration, 'cause' | 'trigger' | 'policy_id'>,
    Pick<Course, 'by' | 'priority'> {}

type How = Pick<BoardPlace, 'load' | 'policy'>;

/**
 * Moves NFs between software and boards in the four stages of CoNFV IV-D, one reconfiguration at a time: detection,
 * update (what a slot runs moves or stops, traffic is led round), configuration (load and verify), response (traffic is
 * led to the board). Each change is an operation of its own whose old path stays until the new one works; a change that
 * does not come about is taken back. One that was under way when the server stopped is taken up again.
 */
@Injectable()
export class ReconfigurationManager implements OnApplicationBootstrap, OnApplicationShutdown {
  private active: Promise<void> | null = null;

  constructor(
    @Inject(LOG) private readonly log: Log,
    @Inject(PLANS) private readonly plans: PlanStore,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(BOARDS) private readonly boards: BoardView,
    @Inject(References) private readonly references: References,
    @Inject(Records) private readonly records: Records,
    @Inject(Conductor) private readonly conductor: Conductor,
  ) {}

  onApplicationBootstrap(): void {
    const running = this.records.all().filter(({ state }) => state === 'running');
    if (running.length > 0) this.occupy(this.takeUp(running.toReversed()));
  }

  async onApplicationShutdown(): Promise<void> {
    this.conductor.stop();
    await this.active;
  }

  /** One after the other, the oldest first. */
  private async takeUp(runs: readonly Reconfiguration[]): Promise<void> {
    for (const { id } of runs) await this.conductor.takeUp(id);
  }

  get busy(): boolean {
    return this.active !== null;
  }

  /** Throws 409 and 422; what is refused for its effect is recorded, not thrown. */
  async request(request: ReconfigurationRequest, cause: Cause): Promise<Reconfiguration> {
    const plan = this.view.comingPlan;
    this.references.require(request, request.to);
    this.requireIdle();
    const here = boardOf(plan, request.nf);
    if (request.to === 'software' && !here)
      throw invalid([{ pointer: '/to', detail: 'it is software already', code: 'no-change' }]);
    if (request.to === 'board' && here && (!request.slot || nameOf(request.slot) === nameOf(here)))
      throw invalid([{ pointer: '/slot', detail: `it is on ${nameOf(here)} already`, code: 'no-change' }]);
    return this.begin(await this.decide(request), cause, request);
  }

  /** Nobody is displaced while there is room. */
  private async decide(request: ReconfigurationRequest): Promise<Decision> {
    const plan = this.view.comingPlan;
    const gently = decide(plan, { ...request, displaces: [] });
    if (request.to === 'software' || request.slot || request.displaces.length === 0) return decide(plan, request);
    const [change] = changesOf(gently);
    const found = await this.plans.make(PlanRequest.parse(change!.request), plan);
    return found.feasible ? gently : decide(plan, request);
  }

  /** Takes back what an earlier reconfiguration (its moves) did to the NF, now that the load has fallen. */
  async back(nf: NfRef, moves: readonly NfMove[], cause: Cause): Promise<Reconfiguration | null> {
    const plan = this.view.comingPlan;
    const here = boardOf(plan, nf);
    if (this.busy || !here) return null;
    return this.begin(decideBack(plan, nf, moves, here), cause, here);
  }

  /** Leads the chains of slots that do not work back over software. */
  async fallBack(cause: Cause): Promise<Reconfiguration | null> {
    const broken = new Set(this.boards.broken().map(nameOf));
    const lost = (this.view.comingPlan?.instances ?? []).filter(({ board }) => board && broken.has(nameOf(board)));
    const [first] = lost;
    if (this.busy || !first) return null;
    const moves = lost.map(({ pipeline_id, node_id, nf, board }) => ({
      pipeline_id,
      node_id,
      nf,
      from: nameOf(board!),
      to: 'software',
    }));
    const { board, slot } = first.board!;
    return this.begin({ leave: [], load: [], moves, slot: { board, slot } }, cause, first.board!);
  }

  private requireIdle(): void {
    if (!this.busy) return;
    const running = this.records.all().find(({ state }) => state === 'running');
    throw conflict(`Another reconfiguration${running ? ` (${running.id})` : ''} is under way; wait for its end.`);
  }

  private async begin(decision: Decision, cause: Cause, how: How): Promise<Reconfiguration> {
    this.requireIdle();
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
    const stored = this.records.write(run, course, started(run, cause.by), ...stageEvents(null, run));
    const carryOut = () => this.conductor.carryOut(run.id);
    // What is stored is carried out, also where the store did not answer.
    this.occupy(stored.then(carryOut, carryOut));
    await stored;
    return run;
  }

  private occupy(work: Promise<void>): void {
    this.active = work
      .catch((error: unknown) => this.log.error({ error }, 'a reconfiguration was lost sight of'))
      .finally(() => {
        this.active = null;
      });
  }
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
