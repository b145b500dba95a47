import type { Ledger, StoredLoan } from './ledger.js';

const RETRY_MS = 1000;
const MOST_RETRY_MS = 30_000;

interface Failures {
  readonly count: number;
  /** Monotonic clock. */
  readonly untilMs: number;
}

/** What this server knows of a group besides its stored ledger. Lost with the server. */
export class Desk {
  /** Monotonic clock: the last tick. */
  tickMs: number | null = null;
  /** When times were last stored. */
  storedMs = Number.NEGATIVE_INFINITY;
  /** Accelerators of which a call is under way. */
  readonly calling = new Set<string>();
  /** By VNF: since when its element manager contradicts the ledger. */
  private readonly doubts = new Map<string, number>();
  /** By VNF: failed calls in a row. */
  private readonly failures = new Map<string, Failures>();

  constructor(public ledger: Ledger) {}

  loanOf(accelerator: string): StoredLoan | undefined {
    return this.ledger.loans.find((loan) => loan.accelerator === accelerator);
  }

  /** Whether it has been in doubt for this long. */
  isInDoubtFor(vnf: string, isContradicted: boolean, nowMs: number, ms: number): boolean {
    if (!isContradicted) {
      this.doubts.delete(vnf);
      return false;
    }
    const sinceMs = this.doubts.get(vnf) ?? nowMs;
    this.doubts.set(vnf, sinceMs);
    return nowMs - sinceMs >= ms;
  }

  failed(vnf: string, nowMs: number): void {
    const count = (this.failures.get(vnf)?.count ?? 0) + 1;
    this.failures.set(vnf, {
      count,
      untilMs: nowMs + Math.min(MOST_RETRY_MS, RETRY_MS * 2 ** Math.min(count - 1, 10)),
    });
  }

  succeeded(vnf: string): void {
    this.failures.delete(vnf);
  }

  mayCall(vnf: string, nowMs: number): boolean {
    return (this.failures.get(vnf)?.untilMs ?? nowMs) <= nowMs;
  }

  keepOnly(vnfs: ReadonlySet<string>): void {
    for (const id of this.doubts.keys()) if (!vnfs.has(id)) this.doubts.delete(id);
    for (const id of this.failures.keys()) if (!vnfs.has(id)) this.failures.delete(id);
  }
}
