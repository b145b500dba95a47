import { Inject, Injectable } from '@nestjs/common';
import type { BoardPlace, ImplementationChoice, NfRef, Plan, Reconfiguration } from '@orrery/contract';
import { BOARDS, type BoardView } from '../../../ports/board-view.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../../ports/deployment-view.js';
import { PLANS, type PlanStore } from '../../../ports/plan-store.js';
import { boardOf, nameOf, softwareFormOf } from '../places.js';
import { asFailure, ChangeMaker, type Progress } from './change-maker.js';
import type { ChangeName } from './changes.js';
import type { Course } from './course.js';

/**
 * Moves every NF of a reconfiguration back to where it was before the first change. An NF whose slot does not work, for
 * example after a failed load, moves to software.
 */
@Injectable()
export class TakeBack {
  constructor(
    @Inject(PLANS) private readonly plans: PlanStore,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(BOARDS) private readonly boards: BoardView,
    @Inject(ChangeMaker) private readonly changes: ChangeMaker,
  ) {}

  async restore(run: Reconfiguration, course: Course): Promise<Progress> {
    for (const name of ['configuration', 'update'] as const) {
      const taken = await this.changes.takeBack(
        run.id,
        name,
        course.failure ?? 'The reconfiguration failed',
        course.by,
      );
      if (taken === 'waiting') return taken;
    }
    const before = await this.stored(course.plan_before);
    if (isFailure(before)) return before;
    const places = course.decision.moves.map((nf) => {
      const place = boardOf(before, nf);
      return { nf, place: place && !this.isBroken(place) ? place : null };
    });
    const leave = places.filter(({ nf, place }) => this.isElsewhere(nf, place));
    const software = leave.map(({ nf }) => toSoftware(nf, run, softwareFormOf(before, nf)));
    const left = await this.undo(run, course, 'back-to-software', software);
    if (left !== 'done') return left;
    const load = places.filter(({ nf, place }) => place && !boardOf(this.view.comingPlan, nf));
    return this.undo(
      run,
      course,
      'back-to-board',
      load.map(({ nf, place }) => toBoard(nf, place!)),
    );
  }

  private async undo(
    { id: runId }: Reconfiguration,
    { by }: Course,
    name: ChangeName,
    implementations: ImplementationChoice[],
  ): Promise<Progress> {
    if (implementations.length === 0 && !(await this.changes.accepted(runId, name))) return 'done';
    const operation = await this.changes.ask({ runId, name, by, request: { implementations } });
    if (!operation) return 'waiting';
    return isFailure(operation) ? operation : this.changes.progressOf(operation);
  }

  private async stored(id: string | null): Promise<Plan | { readonly failed: string } | null> {
    return id === null ? null : this.plans.get(id).catch(asFailure);
  }

  /** Whether the NF is in a different slot than before. */
  private isElsewhere(nf: NfRef, before: BoardPlace | null): boolean {
    const here = boardOf(this.view.comingPlan, nf);
    return here !== null && (before === null || nameOf(before) !== nameOf(here));
  }

  private isBroken(place: BoardPlace): boolean {
    return this.boards.broken().some((slot) => nameOf(slot) === nameOf(place));
  }
}

function isFailure(value: object | null): value is { readonly failed: string } {
  return value !== null && 'failed' in value;
}

function toSoftware(nf: NfRef, run: Reconfiguration, on: 'software' | 'container'): ImplementationChoice {
  return { chain_id: nf.chain_id, node_id: nf.node_id, on, load: run.load, policy: run.policy };
}

function toBoard({ chain_id, node_id }: NfRef, { board, slot, load, policy }: BoardPlace): ImplementationChoice {
  return { chain_id, node_id, on: 'board', slot: { board, slot }, load, policy };
}
