import type { Accelerator, NfDescriptor, NfInstance, NfPlace, NfRef, SlotRef, SlotState } from '@orrery/contract';
import { type Driver, formOfDriver } from '../../shared/format/form.js';
import type { Lane } from './lanes.js';

/** An NF of a deployed chain that boards can run, too. */
export interface BoardNf extends NfRef {
  /** `<chain name>.<node id>`; subject of its samples, whatever runs it. */
  readonly id: string;
  readonly nf: string;
  readonly server: string;
  /** What runs its latest instance. */
  readonly driver: Driver;
  /** The slot that runs it; null: it runs on a server. */
  readonly slot: SlotRef | null;
  /** What that slot does; the NF runs there while it is active. */
  readonly slotState: SlotState | null;
}

/** A chart can distinguish six series. */
export const MOST_SERIES = 6;

export const sameNf = (a: NfRef, b: NfRef) => a.chain_id === b.chain_id && a.node_id === b.node_id;
export const sameSlot = (a: SlotRef, b: SlotRef) => a.board === b.board && a.slot === b.slot;
export const slotText = ({ board, slot }: SlotRef) => `${board} slot ${slot}`;

function hasBoardImplementation(descriptor: NfDescriptor | undefined): boolean {
  return descriptor?.implementations.some(({ kind }) => kind === 'board') ?? false;
}

/** The slot that an NF has, and what it does. */
function slotOf(boards: readonly Accelerator[], nf: NfRef): Pick<BoardNf, 'slot' | 'slotState'> {
  for (const { id, slots } of boards) {
    const found = slots.find(
      ({ chain_id, node_id }) => chain_id !== null && node_id !== null && sameNf({ chain_id, node_id }, nf),
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
    .map(([id, { chain_id, node_id, nf, server, driver }]) => ({
      id,
      chain_id,
      node_id,
      nf,
      server,
      driver,
      ...slotOf(boards, { chain_id, node_id }),
    }));
}

/** `software`, `container`, `board-1 slot 0`, `board-1 slot 0, loading` */
export function whereText({ driver, slot, slotState }: Pick<BoardNf, 'driver' | 'slot' | 'slotState'>): string {
  // An NF that has left its slot counts as software until its next instance is known.
  if (!slot) return driver === 'board' ? 'software' : formOfDriver(driver);
  return slotState === 'active' ? slotText(slot) : `${slotText(slot)}, ${slotState}`;
}

/** An NF with its own line in the chart. */
export interface ChartedNf extends NfRef {
  readonly id: string;
  /** Where it runs, or that it no longer does. */
  readonly where: string;
  readonly color: number;
}

/** NFs that ran in slots since `from_ms` and no longer belong to any chain. */
export function goneNfs(lanes: readonly Lane[], nfs: readonly BoardNf[], from_ms: number): (NfRef & { id: string })[] {
  const gone = new Map<string, NfRef & { id: string }>();
  for (const { nf, chain, to_ms } of lanes.flatMap(({ phases }) => phases)) {
    if (!nf || !chain || to_ms === null || to_ms < from_ms || nfs.some((each) => sameNf(each, nf))) continue;
    const id = `${chain}.${nf.node_id}`;
    gone.set(id, { ...nf, id });
  }
  return [...gone.values()].sort((a, b) => a.id.localeCompare(b.id));
}

/** As many NFs as a chart can distinguish: first those on a board or watched by a policy, then removed ones; stable order. */
export function chartedNfs(
  nfs: readonly BoardNf[],
  watched: readonly NfRef[],
  gone: readonly (NfRef & { id: string })[] = [],
): ChartedNf[] {
  const rankOf = (nf: BoardNf) => (nf.slot !== null || watched.some((each) => sameNf(each, nf)) ? 2 : 0);
  const all = [
    ...nfs.map((nf) => ({ nf, where: whereText(nf), rank: rankOf(nf) })),
    ...gone.map((nf) => ({ nf, where: 'removed', rank: 1 })),
  ];
  const chosen = new Set(all.toSorted((a, b) => b.rank - a.rank).slice(0, MOST_SERIES));
  return all
    .filter((each) => chosen.has(each))
    .map(({ nf: { id, chain_id, node_id }, where }, color) => ({ id, chain_id, node_id, where, color }));
}

/** `software`, `board-1 slot 0` */
export function placeText(place: NfPlace): string {
  if (place.on !== 'board') return place.on;
  return place.slot ? slotText(place.slot) : 'a free slot';
}
