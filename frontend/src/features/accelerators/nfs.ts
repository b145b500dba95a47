import type { Accelerator, NfDescriptor, NfInstance, NfRef, SlotRef, SlotState } from '@orrery/contract';
import { type Driver, formOfDriver } from '../../shared/format/form.js';

/** An NF of a deployed chain that boards can run, too. */
export interface BoardNf extends NfRef {
  /** `<pipeline name>.<node id>`; samples of it are `nf/<id>/<metric>`, whatever runs it. */
  readonly id: string;
  readonly nf: string;
  readonly server: string;
  /** What runs its latest instance. */
  readonly driver: Driver;
  /** Where a board runs it; null: a server does. */
  readonly slot: SlotRef | null;
  /** What that slot does; the NF runs there while it is active. */
  readonly slotState: SlotState | null;
  /** Index of its colour, the same in chart and lanes. */
  readonly color: number;
}

/** A chart tells six series apart. */
export const MOST_SERIES = 6;

export const sameNf = (a: NfRef, b: NfRef) => a.pipeline_id === b.pipeline_id && a.node_id === b.node_id;
export const sameSlot = (a: SlotRef, b: SlotRef) => a.board === b.board && a.slot === b.slot;
export const slotText = ({ board, slot }: SlotRef) => `${board} slot ${slot}`;

function hasBoardImplementation(descriptor: NfDescriptor | undefined): boolean {
  return descriptor?.implementations.some(({ kind }) => kind === 'board') ?? false;
}

/** The slot that an NF has, and what it does. */
function slotOf(boards: readonly Accelerator[], nf: NfRef): Pick<BoardNf, 'slot' | 'slotState'> {
  for (const { id, slots } of boards) {
    const found = slots.find(
      ({ pipeline_id, node_id }) => pipeline_id !== null && node_id !== null && sameNf({ pipeline_id, node_id }, nf),
    );
    if (found) return { slot: { board: id, slot: found.slot }, slotState: found.state };
  }
  return { slot: null, slotState: null };
}

/** NFs that run now and could be on a board, each once however many instances it has, in the order of their ids. */
export function boardNfs(
  instances: readonly NfInstance[],
  descriptors: readonly NfDescriptor[],
  boards: readonly Accelerator[],
): BoardNf[] {
  const able = new Set(descriptors.filter(hasBoardImplementation).map(({ id }) => id));
  const byId = new Map<string, NfInstance>();
  for (const instance of instances) {
    // `<NF>.0` in software, `<NF>.container-0` in a container, `<NF>.board-1-0` on a board.
    if (able.has(instance.nf)) byId.set(instance.id.slice(0, instance.id.lastIndexOf('.')), instance);
  }
  return [...byId]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([id, { pipeline_id, node_id, nf, server, driver }], color) => ({
      id,
      pipeline_id,
      node_id,
      nf,
      server,
      driver,
      ...slotOf(boards, { pipeline_id, node_id }),
      color,
    }));
}

/** `software`, `container`, `board-1 slot 0`, `board-1 slot 0, loading` */
export function whereText({ driver, slot, slotState }: Pick<BoardNf, 'driver' | 'slot' | 'slotState'>): string {
  // What has left its slot is in software until its next instance is known.
  if (!slot) return driver === 'board' ? 'software' : formOfDriver(driver);
  return slotState === 'active' ? slotText(slot) : `${slotText(slot)}, ${slotState}`;
}

/** As many NFs as a chart tells apart: first those on a board or watched by a policy. Their order stays. */
export function chartedNfs(nfs: readonly BoardNf[], watched: readonly NfRef[]): BoardNf[] {
  const rank = (nf: BoardNf) => Number(nf.slot !== null || watched.some((each) => sameNf(each, nf)));
  const chosen = new Set([...nfs].sort((a, b) => rank(b) - rank(a)).slice(0, MOST_SERIES));
  return nfs.filter((nf) => chosen.has(nf)).map((nf, color) => ({ ...nf, color }));
}
