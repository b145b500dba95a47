import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import { type Accelerator, nfInstances, type Reconfiguration } from '@orrery/contract';
import { BOARDS, type BoardView, sameLoad } from '../../../ports/board-view.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../../ports/deployment-view.js';
import { placedAt } from '../decision/decision.js';
import { boardOf } from '../places.js';
import type { Course } from './course.js';

/** What boards report about a reconfiguration in progress. */
@Injectable()
export class BoardNews {
  constructor(
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(BOARDS) private readonly boards: BoardView,
  ) {}

  /** Called when a board or the deployment changes. */
  onChange(listener: () => void): void {
    this.view.onChange(listener);
    this.boards.onChange(listener);
  }

  /** The run with the slot that the plan selected, and with the result of the load once its board reports it. */
  withLoad(run: Reconfiguration, course: Course): Reconfiguration {
    const nf = course.decision.load[0];
    const board = nf && boardOf(this.view.comingPlan, nf);
    if (!board) return run;
    const placed = placedAt(run, nf, board);
    const last = this.boards.lastLoad(board.board);
    if (!last || (last.slot !== null && last.slot !== board.slot)) return placed;
    if (isDeepStrictEqual(last, course.loads_before[board.board])) return placed;
    const earlier = placed.loads.filter((load) => !sameLoad(load, last));
    const loads = [...earlier, last];
    return { ...placed, loads, packets_lost: loads.reduce((sum, { lost }) => sum + lost, 0) };
  }

  /** Whether a board of the run has not reported since the server started: its faults and loads are then unknown. */
  isSilent(run: Reconfiguration): boolean {
    const used = nfInstances(this.view.comingPlan?.graph).flatMap(({ board }) => board ?? []);
    const names = new Set([...used, ...(run.slot ? [run.slot] : [])].map(({ board }) => board));
    const broken = new Set(this.boards.broken().map(({ board }) => board));
    const isAway = (state: Accelerator['state']) => state === 'absent' || state === 'starting';
    return this.boards.accelerators().some(({ id, state }) => names.has(id) && isAway(state) && !broken.has(id));
  }
}
