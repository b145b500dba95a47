import { acceleratorNamed } from '@orrery/contract';
import type { Holding, Ledger, StoredLoan } from './ledger.js';
import { Since } from './since.js';

const RETRY_MS = 1000;
const MOST_RETRY_MS = 30_000;

interface Failures {
  readonly count: number;
  /** Monotonic clock. */
  readonly untilMs: number;
  readonly why: string;
}

type Named = Pick<Holding, 'accelerator' | 'vnf'>;

/** What this server knows of a group besides its stored ledger, and what it has under way. Lost with the server. */
export class Desk {
  /** Monotonic clock: the last tick. */
  tickMs: number | null = null;
  /** When times were last stored. */
  storedMs = Number.NEGATIVE_INFINITY;
  /** Accelerated without a loan, by VNF; in software with one, by loan. */
  readonly contradicted = new Since();
  /** Not run by the server of the accelerator, by loan, also of what was lent. */
  readonly stopped = new Since();
  /** Servers without a connection, by accelerator. */
  readonly away = new Since();
  /** Who gave way at the end of its slice, by accelerator: the next decision about it passes that one over. */
  readonly gaveWay = new Map<string, string>();
  /** Monotonic clock: when the holder was asked for what another one waits for, until that has it; by accelerator. */
  readonly handingOver = new Map<string, number>();
  /** By accelerator; what was never lent, by VNF. One of each at a time. */
  private readonly work = new Map<string, Promise<void>>();
  private readonly closing = new AbortController();
  /** By what a call is of (`callOf`): failed ones in a row. */
  private readonly failures = new Map<string, Failures>();

  constructor(public ledger: Ledger) {}

  /** Aborted when the desk is closed: what is under way stores nothing any more. */
  get signal(): AbortSignal {
    return this.closing.signal;
  }

  loanOf(accelerator: string): StoredLoan | undefined {
    return this.ledger.loans.find((loan) => loan.accelerator === accelerator);
  }

  isBusy(name: string): boolean {
    return this.work.has(name);
  }

  /** Names of what is under way. */
  get underWay(): readonly string[] {
    return [...this.work.keys()];
  }

  /** Nothing waits for it. A failure closes the desk: its ledger may differ from the stored one. */
  begin(name: string, work: () => Promise<void>): void {
    if (this.signal.aborted) return;
    const result = work()
      .catch((error: Error) => this.close(error))
      .finally(() => this.work.delete(name));
    this.work.set(name, result);
  }

  close(why: Error): void {
    this.closing.abort(why);
  }

  async ended(): Promise<void> {
    await Promise.all(this.work.values());
  }

  failed(call: string, nowMs: number, why: string): void {
    const count = (this.failures.get(call)?.count ?? 0) + 1;
    this.failures.set(call, {
      count,
      untilMs: nowMs + Math.min(MOST_RETRY_MS, RETRY_MS * 2 ** Math.min(count - 1, 10)),
      why,
    });
  }

  succeeded(call: string): void {
    this.failures.delete(call);
  }

  mayCall(call: string, nowMs: number): boolean {
    return (this.failures.get(call)?.untilMs ?? nowMs) <= nowMs;
  }

  /** Why the last call failed; null: it did not. */
  whyFailed(call: string): string | null {
    return this.failures.get(call)?.why ?? null;
  }

  /** Forgets all but these members, and who has or may have something. */
  keepOnly(members: readonly string[]): void {
    const { loans, owed } = this.ledger;
    const holdings = [...loans, ...owed];
    const names = holdings.map(nameOf);
    this.contradicted.keepOnly(new Set([...members, ...names]));
    this.stopped.keepOnly(new Set(names));
    this.away.keepOnly(new Set(loans.map(({ accelerator }) => accelerator)));
    const vnfs = new Set([...members, ...holdings.map(({ vnf }) => vnf)]);
    for (const call of this.failures.keys())
      if (!vnfs.has(call.slice(call.indexOf(' ') + 1))) this.failures.delete(call);
  }
}

/** Of an accelerator with one VNF. */
export function nameOf({ accelerator, vnf }: Named): string {
  return `${accelerator} ${vnf}`;
}

/** What fails together: calls of one element manager; moves of a VNF to one slot, as another one may take it. */
export function callOf(holding: Named): string {
  return acceleratorNamed(holding.accelerator).kind === 'slot' ? nameOf(holding) : holding.vnf;
}
