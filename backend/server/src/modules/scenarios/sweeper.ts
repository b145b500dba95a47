import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import { LOG, type Log } from '../../platform/log.js';
import { type Api, Unavailable } from './api-caller.js';
import { type Kind, makingOf } from './kinds.js';
import { Ledger, type Made } from './ledger.js';

/** Creates resources for runs, and removes them. */
@Injectable()
export class Sweeper {
  constructor(
    @Inject(LOG) private readonly log: Log,
    @Inject(Ledger) private readonly ledger: Ledger,
  ) {}

  /** Returns the id of the new resource. */
  async make(api: Api, runId: string, kind: Kind, request: unknown): Promise<string> {
    const noted: Made = { kind, request, id: null, noted_ms: Date.now() };
    await this.ledger.change(runId, (made) => [...made, noted]);
    const id = await makingOf(kind).make(api, request);
    await this.ledger.change(runId, (made) => [...without(made, noted), { ...noted, id }]);
    return id;
  }

  /**
   * Removes what the run created, in reverse order; what cannot be removed stays recorded. False if something is left.
   * Throws while the store is away, and may then be retried.
   */
  async sweep(api: Api, runId: string, signal: AbortSignal): Promise<boolean> {
    for (const made of (await this.ledger.of(runId)).toReversed()) {
      if (signal.aborted) break;
      if (await this.takeAway(api, runId, made, signal)) await this.ledger.change(runId, (left) => without(left, made));
    }
    return (await this.ledger.of(runId)).length === 0;
  }

  private async takeAway(api: Api, runId: string, made: Made, signal: AbortSignal): Promise<boolean> {
    try {
      const making = makingOf(made.kind);
      const found = (await making.list(api, signal, made.id)).filter((it) =>
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

  /** Runs with leftovers. */
  leftBy(): string[] {
    return this.ledger.runs();
  }
}

/** Without the first entry that is stored alike. */
function without(made: readonly Made[], gone: Made): Made[] {
  const stored = (each: Made): unknown => JSON.parse(JSON.stringify(each));
  const at = made.findIndex((each) => isDeepStrictEqual(stored(each), stored(gone)));
  return at < 0 ? [...made] : made.toSpliced(at, 1);
}
