import type { Operation } from '@orrery/contract';
import { LostReply } from '../../ports/node-fleet.js';

/** Steps whose counts a lost reply leaves open. A copy changes nothing where flows are; the later ones do. */
const STEPS = ['copy-flows', 'steer-flows', 'release-flows'] as const;
type Doubtful = (typeof STEPS)[number];

/** More may have been done in a step than was counted. */
export interface Doubt {
  readonly step: Doubtful;
  /** Server whose reply was lost; null: this server ended in the step. */
  readonly lostFrom: string | null;
}

/** A lost reply is made up for by another attempt, for so long and so often. */
const PATIENCE_MS = 30_000;
const MOST_LOST = 5;

export function causeOf({ lostFrom }: Doubt): string {
  return lostFrom === null ? 'the server ended' : `a reply of ${lostFrom} was lost`;
}

/** What is not known of a move: its steps can be repeated, so that another attempt finishes it, but nobody counts what was done. */
export class MoveDoubts {
  private found: Doubt | null;
  private replies = 0;
  private lostMs = Number.NEGATIVE_INFINITY;

  /** `operation`: as this server found or began it. */
  constructor(
    { steps }: Pick<Operation, 'steps'>,
    private readonly nowMs: () => number,
  ) {
    const begun = (kind: Doubtful) =>
      steps.some((step) => step.kind === kind && (step.state !== 'pending' || step.started_ms !== null));
    const step = STEPS.findLast(begun);
    this.found = step ? { step, lostFrom: null } : null;
  }

  get latest(): Doubt | null {
    return this.found;
  }

  /** Whether flows may be elsewhere than is counted, and not only copies of them. */
  get isDecisive(): boolean {
    return this.found !== null && this.found.step !== 'copy-flows';
  }

  /** Whether another attempt may still tell where flows are that seemed to stay. */
  get isOpen(): boolean {
    return this.replies > 0 && !this.isHopeless && this.nowMs() - this.lostMs < PATIENCE_MS;
  }

  /** Replies are lost again and again. */
  get isHopeless(): boolean {
    return this.replies >= MOST_LOST;
  }

  /** A call of the step to a server. */
  async watch<T>(step: Doubtful, server: string, call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      if (error instanceof LostReply) {
        if (step !== 'copy-flows') {
          this.replies++;
          this.lostMs = this.nowMs();
        }
        if (!this.found || STEPS.indexOf(step) >= STEPS.indexOf(this.found.step))
          this.found = { step, lostFrom: server };
      }
      throw error;
    }
  }
}
