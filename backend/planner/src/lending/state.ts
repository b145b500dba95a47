/** An NF instance that may be lent an accelerator. */
export interface Vnf {
  readonly id: string;
  /** Share of the most that it may use; null: not measured lately. */
  readonly usage: number | null;
  /** Accelerators that it can use. */
  readonly can: readonly string[];
}

export interface Accelerator {
  readonly id: string;
  /** False: it failed or does not answer. */
  readonly works: boolean;
}

/** An accelerator and the one VNF that has it. */
export interface Loan {
  readonly accelerator: string;
  readonly vnf: string;
  /** For how long. */
  readonly held_ms: number;
  /** False: it is being granted or released, or which is not known; nothing is decided about it. */
  readonly settled: boolean;
}

/** What a VNF has had. */
export interface Account {
  /** The order of those that wait: the least is first. Accelerator time, begun at the least of the others. */
  readonly time_ms: number;
  readonly held_ms: number;
  /** Time for which it qualified and had none. */
  readonly waited_ms: number;
  /** Number of its latest turn; 0: none. */
  readonly turn: number;
  /** Whether it was there at the last tick. */
  readonly here: boolean;
}

export interface LendingState {
  readonly accounts: Readonly<Record<string, Account>>;
  readonly loans: readonly Loan[];
  /** How many there have been. */
  readonly turns: number;
}

export const NO_LOANS: LendingState = { accounts: {}, loans: [], turns: 0 };

/** Accounts kept of VNFs that are gone, so that they do not begin anew when they return. */
const MOST_AWAY = 256;

/** After this much time by a monotonic clock, in which each loan was held; `wants`: whether a VNF qualifies now. */
export function elapse(
  state: LendingState,
  vnfs: readonly Vnf[],
  elapsedMs: number,
  wants: (vnf: Vnf) => boolean,
): LendingState {
  const ms = Math.max(0, elapsedMs);
  const holding = new Set(state.loans.map(({ vnf }) => vnf));
  const loans = state.loans.map((loan) => ({ ...loan, held_ms: loan.held_ms + ms }));
  const accounts: Record<string, Account> = {};
  for (const [id, account] of Object.entries(state.accounts)) {
    const { time_ms, held_ms } = account;
    accounts[id] = holding.has(id)
      ? { ...account, here: false, time_ms: time_ms + ms, held_ms: held_ms + ms }
      : { ...account, here: false };
  }
  const known = vnfs.flatMap(({ id }) => (state.accounts[id]?.here ? accounts[id]!.time_ms : []));
  const least = known.length > 0 ? Math.min(...known) : 0;
  for (const vnf of vnfs) {
    const { id } = vnf;
    const before = accounts[id] ?? { time_ms: 0, held_ms: 0, waited_ms: 0, turn: 0, here: false };
    const waited = state.accounts[id]?.here && !holding.has(id) && wants(vnf) ? ms : 0;
    accounts[id] = {
      ...before,
      time_ms: state.accounts[id]?.here ? before.time_ms : Math.max(before.time_ms, least),
      waited_ms: before.waited_ms + waited,
      here: true,
    };
  }
  return { ...state, loans, accounts: withoutLongGone(accounts, holding) };
}

function withoutLongGone(accounts: Record<string, Account>, holding: ReadonlySet<string>): Record<string, Account> {
  const away = Object.entries(accounts).filter(([id, { here }]) => !here && !holding.has(id));
  const dropped = away.sort(([, a], [, b]) => a.turn - b.turn).slice(0, Math.max(0, away.length - MOST_AWAY));
  for (const [id] of dropped) delete accounts[id];
  return accounts;
}

/** The accelerator becomes the VNF's, and a turn begins. Requires that it is free and the VNF has none. */
export function granted(state: LendingState, accelerator: string, vnf: string, settled = true): LendingState {
  const turns = state.turns + 1;
  const { time_ms = 0, held_ms = 0, waited_ms = 0, here = true } = state.accounts[vnf] ?? {};
  return {
    turns,
    accounts: { ...state.accounts, [vnf]: { time_ms, held_ms, waited_ms, here, turn: turns } },
    loans: [...state.loans, { accelerator, vnf, held_ms: 0, settled }],
  };
}

/** Nobody has it. */
export function released(state: LendingState, accelerator: string): LendingState {
  return { ...state, loans: state.loans.filter((loan) => loan.accelerator !== accelerator) };
}
