import { decideLending, type Handover } from '../lending/decide.js';
import {
  type Accelerator,
  elapse,
  granted,
  type LendingState,
  NO_LOANS,
  released,
  type Vnf,
} from '../lending/state.js';
import { LENDING_STRATEGIES, type LendingSettings } from '../lending/strategies.js';

export const SSM: LendingSettings = { strategy: 'ssm', th_up: 0.75, th_low: 0.65, slice_ms: 11_000 };
export const ONE: readonly Accelerator[] = [{ id: 'a', works: true }];

export const vnf = (id: string, usage: number | null, can: readonly string[] = ['a']): Vnf => ({ id, usage, can });

/** Carries out each decision at once, and checks what must hold whatever happens. */
export class Lender {
  state: LendingState = NO_LOANS;
  /** When an accelerator changed hands, in s: `<vnf> <why>` or `<vnf>` for a grant. */
  readonly log: [s: number, what: string][] = [];
  private nowMs = 0;
  private hasBegun = false;

  constructor(
    public settings: LendingSettings,
    public accelerators: readonly Accelerator[] = ONE,
  ) {}

  tick(nowMs: number, vnfs: readonly Vnf[]): Handover[] {
    const strategy = LENDING_STRATEGIES[this.settings.strategy];
    this.state = elapse(this.state, vnfs, nowMs - this.nowMs, (it) => strategy.wants(it, this.settings));
    this.nowMs = nowMs;
    this.hasBegun = true;
    const handovers = decideLending(this.state, vnfs, this.accelerators, this.settings);
    for (const { accelerator, from } of handovers) {
      if (!from) continue;
      this.state = released(this.state, accelerator);
      this.log.push([nowMs / 1000, `${from.vnf} ${from.why}`]);
    }
    for (const { accelerator, to } of handovers) {
      if (to === null) continue;
      this.state = granted(this.state, accelerator, to);
      this.log.push([nowMs / 1000, to]);
    }
    const { loans } = this.state;
    if (new Set(loans.map((it) => it.accelerator)).size < loans.length)
      throw new Error('an accelerator has two holders');
    if (new Set(loans.map((it) => it.vnf)).size < loans.length) throw new Error('a VNF has two accelerators');
    return handovers;
  }

  /** Ticks of half a second until a time in s, under loads that depend on the time and on who is accelerated. */
  until(endS: number, loads: (s: number, isAccelerated: (id: string) => boolean) => readonly Vnf[]): this {
    for (let ms = this.hasBegun ? this.nowMs + 500 : 0; ms <= endS * 1000; ms += 500)
      this.tick(
        ms,
        loads(ms / 1000, (id) => this.state.loans.some((loan) => loan.vnf === id)),
      );
    return this;
  }

  get grants(): [s: number, vnf: string][] {
    return this.log.filter(([, what]) => !what.includes(' '));
  }
}
