import { acceleratorName, type NfRef, type Reconfiguration } from '@orrery/contract';
import { conflict } from '../platform/problem.js';
import type { Reconfigurer } from '../ports/reconfigurer.js';

interface Movable {
  readonly id: string;
  readonly chain_id: string;
  /** Name of the slot in which it runs; null: on its server. */
  slot: string | null;
}

export type MoveOutcome = 'completed' | 'refused' | 'rolled-back';

interface Move {
  run: Reconfiguration;
  readonly vnf: Movable;
  /** Name of a slot; null: to software. */
  readonly to: string | null;
}

/** Reconfigurations that outlive the server, and go on without it. */
export class FakeMoves {
  /** `<instance> to <slot>`, or `<instance> home`. */
  readonly asked: string[] = [];
  /** Of the next moves, in order; `completed` after those. */
  readonly outcomes: MoveOutcome[] = [];
  /** They go on until they are finished. */
  isSlow = false;
  /** Slots that two VNFs were in at the same time. */
  readonly shared: string[] = [];
  private readonly moves = new Map<string, Move>();
  private readonly listeners = new Set<(run: Reconfiguration) => void>();

  constructor(private readonly vnfs: ReadonlyMap<string, Movable>) {}

  get port(): Reconfigurer {
    return {
      request: async ({ nf, slot }) => this.begin(nf, slot && acceleratorName({ kind: 'slot', ...slot })),
      home: async (nf) => this.begin(nf, null),
      back: async () => null,
      leaveBroken: async () => null,
      holderOf: (nf) => this.running().find(({ vnf }) => vnf.chain_id === nf.chain_id)?.run.id ?? null,
      find: (id) => this.moves.get(id)?.run,
      onEnd: (listener) => void this.listeners.add(listener),
    };
  }

  get underWay(): number {
    return this.running().length;
  }

  finish(): void {
    for (const move of this.running()) this.end(move);
  }

  private running(): Move[] {
    return [...this.moves.values()].filter(({ run }) => run.state === 'running');
  }

  private begin(nf: NfRef, to: string | null): Reconfiguration {
    const vnf = [...this.vnfs.values()].find(({ chain_id }) => chain_id === nf.chain_id);
    if (!vnf || this.running().some((move) => move.vnf === vnf)) throw conflict(`${nf.chain_id} cannot be moved`);
    this.asked.push(`${vnf.id} ${to === null ? 'home' : `to ${to}`}`);
    const id = `rc-${this.moves.size + 1}`;
    const move: Move = { run: { id, state: 'running', detail: null } as Reconfiguration, vnf, to };
    this.moves.set(id, move);
    if (!this.isSlow) this.end(move);
    return move.run;
  }

  private end(move: Move): void {
    const state = this.outcomes.shift() ?? 'completed';
    if (state === 'completed') move.vnf.slot = move.to;
    move.run = { ...move.run, state, detail: state === 'completed' ? null : `the move was ${state}` };
    const there = [...this.vnfs.values()].filter(({ slot }) => slot !== null && slot === move.to);
    if (there.length > 1) this.shared.push(move.to!);
    for (const listener of this.listeners) listener(move.run);
  }
}
