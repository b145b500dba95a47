import type { InstanceSpec, NodeSpec, ObservedBoard, SlotRef } from '@orrery/contract';
import { CompileError } from '../drivers/engine/compile-error.js';
import { boardDigest } from '../drivers/instance-digest.js';
import type { BoardInstance } from '../drivers/nf-driver.js';
import type { HostWorld } from './hosted.js';
import { noChange, type Step } from './steps.js';

/** What the board driver runs, and its boards. */
export interface BoardWorld extends HostWorld {
  kind: 'board';
  nfs: readonly string[];
  instances: ReadonlyMap<string, BoardInstance>;
  observed: readonly ObservedBoard[];
  /** Slots that hold no known instance. */
  unclaimed: readonly SlotRef[];
}

const placeOf = ({ board, slot }: SlotRef) => `${board}/${slot}`;
const onBoards = (spec: NodeSpec) => spec.instances.filter(({ driver }) => driver === 'board');

/** Throws a CompileError for an instance whose slot does not exist here or is taken by another. */
export function checkBoards(spec: NodeSpec, boards: BoardWorld): void {
  const taken = new Map<string, string>();
  spec.instances.forEach((instance, i) => {
    const { id, driver, board } = instance;
    if (driver !== 'board') return;
    const fault = faultOf(instance, boards, board && taken.get(placeOf(board)));
    if (fault) throw new CompileError(`/instances/${i}/${fault.field}`, fault.detail, id);
    taken.set(placeOf(board!), id);
  });
}

function faultOf({ nf, board }: InstanceSpec, { nfs, observed }: BoardWorld, other: string | undefined) {
  if (!board) return { field: 'board', detail: 'an instance with the driver board needs a board and a slot' };
  const there = observed.find(({ id }) => id === board.board);
  if (!there) return { field: 'board/board', detail: `no board ${board.board} here; there are ${list(observed)}` };
  if (!there.slots.some(({ slot }) => slot === board.slot))
    return { field: 'board/slot', detail: `board ${board.board} has no slot ${board.slot}` };
  if (!nfs.includes(nf)) return { field: 'nf', detail: `boards here cannot run ${nf}; they can run ${nfs.join(', ')}` };
  if (other)
    return {
      field: 'board/slot',
      detail: `slot ${board.slot} of board ${board.board} is already assigned to ${other}`,
    };
  return null;
}

const list = (boards: readonly ObservedBoard[]) => boards.map(({ id }) => id).join(', ') || 'none';

/**
 * What is deployed and configured before the data plane changes, and what follows once it no longer refers to removed
 * instances: they are destructed, others take their slots, and leftovers of an earlier agent are removed.
 */
export function boardSteps(spec: NodeSpec, { instances, unclaimed }: BoardWorld): { before: Step[]; after: Step[] } {
  const wanted = onBoards(spec);
  const places = new Map(wanted.map(({ id, board }) => [id, placeOf(board!)]));
  const leaving = new Set(
    [...instances].flatMap(([id, { place }]) => (places.get(id) === placeOf(place) ? [] : [placeOf(place)])),
  );
  const changed = wanted.filter((instance) => instances.get(instance.id)?.digest !== boardDigest(instance));
  const [early, late] = [changed.filter(free), changed.filter((instance) => !free(instance))];
  function free({ board }: InstanceSpec): boolean {
    return !leaving.has(placeOf(board!));
  }
  const destruct = [...instances.keys()].filter((id) => !places.has(id));
  const named = new Set(places.values());
  const vacate = unclaimed.filter((place) => !named.has(placeOf(place)));
  return { before: step(early, [], [], instances), after: step(late, destruct, vacate, instances) };
}

function step(
  changed: InstanceSpec[],
  destruct: string[],
  vacate: SlotRef[],
  instances: BoardWorld['instances'],
): Step[] {
  if (changed.length + destruct.length + vacate.length === 0) return [];
  const deploy = changed.filter(({ id }) => !instances.has(id));
  const configure = changed.filter(({ id }) => instances.has(id));
  const reason = changed.map(({ id }) => id).join(', ') || 'no longer desired';
  return [{ kind: 'realize', driver: 'board', change: { ...noChange, deploy, configure, destruct, vacate }, reason }];
}
