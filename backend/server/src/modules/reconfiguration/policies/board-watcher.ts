import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { nfInstances } from '@orrery/contract';
import type { ControlLoop } from '../../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../../platform/control-loop/control-loops.js';
import type { LoopRun } from '../../../platform/control-loop/definition.js';
import { BOARDS, type BoardView } from '../../../ports/board-view.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../../ports/deployment-view.js';
import { RECONFIGURER, type Reconfigurer } from '../../../ports/reconfigurer.js';
import { nameOf } from '../places.js';
import { causeOf } from '../requests/cause.js';
import { retryMs } from './retry.js';

const PERIOD_MS = 500;
const DEADLINE_MS = 60_000;
/**
 * A slot that has not worked for this long is abandoned; a restarting agent finds its boards sooner. A slot that loads
 * again what it ran is not waited for: the load takes longer.
 */
const GIVE_UP_MS = 1000;

/** Moves NFs out of slots that do not work to software. */
@Injectable()
export class BoardWatcher implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: ControlLoop;
  private readonly brokenSinceMs = new Map<string, number>();
  /** Consecutive failed moves to software. */
  private failures = 0;
  private notBeforeMs = 0;

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(BOARDS) private readonly boards: BoardView,
    @Inject(RECONFIGURER) private readonly reconfigurer: Reconfigurer,
  ) {
    this.loop = loops.add({
      id: 'board-watch',
      title: 'Board watcher',
      purpose: 'Moves NFs whose slot has stopped working to software.',
      tickMs: PERIOD_MS,
      backoff: { firstMs: PERIOD_MS, mostMs: 10_000 },
      deadlineMs: DEADLINE_MS,
      run: (run) => this.look(run, performance.now()),
    });
  }

  onApplicationBootstrap(): void {
    this.loop.wake();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  private async look({ step, decide }: LoopRun, nowMs: number): Promise<undefined> {
    const lost = this.lostUser(nowMs);
    if (!lost) {
      this.failures = 0;
      this.notBeforeMs = 0;
      return;
    }
    if (nowMs < this.notBeforeMs || this.reconfigurer.holderOf(lost)) return;
    this.notBeforeMs = nowMs + retryMs(this.failures++);
    const slot = nameOf(lost.board!);
    const reloads = this.boards.reloading().some((it) => nameOf(it) === slot);
    const detail = this.boards.accelerators().find(({ id }) => id === lost.board!.board)?.detail;
    const why = reloads ? 'it is loaded again' : (detail ?? 'it does not work');
    decide({ subject: slot, what: 'Leave the slot', why, inputs: { instance: lost.id } });
    await step(this.reconfigurer.leaveBroken(causeOf('fallback', `${slot}: ${why}`, 'board watcher')));
  }

  /** An instance whose slot has not worked for some time. */
  private lostUser(nowMs: number) {
    const reloading = new Set(this.boards.reloading().map(nameOf));
    const names = new Set(this.boards.broken().map(nameOf));
    for (const known of this.brokenSinceMs.keys()) if (!names.has(known)) this.brokenSinceMs.delete(known);
    for (const name of names) if (!this.brokenSinceMs.has(name)) this.brokenSinceMs.set(name, nowMs);
    return nfInstances(this.view.comingPlan?.graph).find(
      ({ board }) =>
        board &&
        (reloading.has(nameOf(board)) || nowMs - (this.brokenSinceMs.get(nameOf(board)) ?? nowMs) >= GIVE_UP_MS),
    );
  }
}
