import { Inject, Injectable } from '@nestjs/common';
import { LOG, type Log } from '../../platform/log.js';
import { type Api, Unavailable } from './api-caller.js';
import { type Kind, makingOf } from './kinds.js';
import { Ledger, type Made } from './ledger.js';

/** Makes things for runs, and takes them away again. */
@Injectable()
export class Sweeper {
  constructor(
    @Inject(LOG) private readonly log: Log,
    @Inject(Ledger) private readonly ledger: Ledger,
  ) {}

  /** Gives the id of what was made. */
  async make(api: Api, runId: string, kind: Kind, request: unknown): Promise<string> {
    const before = await this.ledger.of(runId);
    const noted = { kind, request, id: null, noted_ms: Date.now() };
    await this.ledger.write(runId, [...before, noted]);
    const id = await makingOf(kind).make(api, request);
    await this.ledger.write(runId, [...before, { ...noted, id }]);
    return id;
  }

  /**
   * Takes away what the run made, the last first; what cannot be stays noted. False: something is left. Throws while the
   * store is away, and may then be called again.
   */
  async sweep(api: Api, runId: string, signal: AbortSignal): Promise<boolean> {
    let left = await this.ledger.of(runId);
    for (const made of left.toReversed()) {
      if (signal.aborted) break;
      if (!(await this.takeAway(api, runId, made, signal))) continue;
      left = left.filter((each) => each !== made);
      await this.ledger.write(runId, left);
    }
    return left.length === 0;
  }

  private async takeAway(api: Api, runId: string, made: Made, signal: AbortSignal): Promise<boolean> {
    try {
      const making = makingOf(made.kind);
      const found = (await making.list(api, signal)).filter((it) =>
        made.id === null ? it.is(made.request, made.noted_ms) : it.id === made.id,
      );
      for (const { id } of found) await making.remove(api, id, signal);
      return true;
    } catch (error) {
      if (error instanceof Unavailable) throw error;
      this.log.warn({ error: (error as Error).message, run: runId, kind: made.kind }, 'left by a scenario');
      return false;
    }
  }

  /** Runs that left something. */
  leftBy(): Promise<string[]> {
    return this.ledger.runs();
  }
}
