import type { InstanceSpec, MatchTerm, Target } from '@orrery/contract';
import type { RegisterWrite } from './board-port.js';
import { at, word } from './fields.js';
import type { ModuleAdapter } from './modules/module-adapter.js';
import { BOARD_MODULES } from './registers.js';

const SHELL = BOARD_MODULES.nf_shell.registers;
/** Classes that a module tells apart: none found, and its three values. */
const CLASSES = [0, 1, 2, 3] as const;
/** In the shell's tables: the hop of a frame stays as it is. */
const AS_IT_IS = 0;
/** In the shell's tables: frames are dropped and counted in `NO_HOP`. */
const DROPPED = 0xffff;

/** A frame whose next hop the shell of a slot at a switch cannot know. */
export class NoSuchHop extends Error {
  override name = 'NoSuchHop';
}

type Hops = readonly [number, number, number, number];

/**
 * What the shell of a slot at a switch writes into the tag of frames by their class: the hop of the output that takes it.
 * Beside an engine, which does that itself, tags stay as they are. Errors: `NoSuchHop`.
 */
export function hopWrites(slot: number, { attribute }: ModuleAdapter, instance: InstanceSpec): RegisterWrite[] {
  const atSwitch = instance.board?.attached === 'switch';
  const forward = atSwitch
    ? (CLASSES.map((n) => forwardHop(n, attribute, instance)) as unknown as Hops)
    : ALL(AS_IT_IS);
  const back = ALL(!atSwitch ? AS_IT_IS : instance.return_to ? hopOf(instance.return_to, instance) : DROPPED);
  return [
    [at(SHELL.HOPS_FORWARD_0, slot), word(SHELL.HOPS_FORWARD_0, { CLASS_0: forward[0], CLASS_1: forward[1] })],
    [at(SHELL.HOPS_FORWARD_1, slot), word(SHELL.HOPS_FORWARD_1, { CLASS_2: forward[2], CLASS_3: forward[3] })],
    [at(SHELL.HOPS_RETURN_0, slot), word(SHELL.HOPS_RETURN_0, { CLASS_0: back[0], CLASS_1: back[1] })],
    [at(SHELL.HOPS_RETURN_1, slot), word(SHELL.HOPS_RETURN_1, { CLASS_2: back[2], CLASS_3: back[3] })],
  ];
}

const ALL = (hop: number): Hops => [hop, hop, hop, hop];

function forwardHop(n: number, attribute: ModuleAdapter['attribute'], instance: InstanceSpec): number {
  const field = attribute && instance.metadata[attribute.name];
  const found = n === 0 ? undefined : attribute?.values[n - 1];
  const value = found === undefined ? 0 : (field?.values[found] ?? 0);
  const takes = (term: MatchTerm): boolean => {
    const own = term.field === 'metadata' && term.offset === field?.offset && term.width === field.width;
    if (!own) throw new NoSuchHop(`${instance.id}: its slot cannot tell frames apart by ${term.field}`);
    return (term.value === value) !== term.not;
  };
  const output = instance.outputs.find(({ match }) => match.every(takes));
  if (!output) return DROPPED;
  if (output.targets.length > 1)
    throw new NoSuchHop(`${instance.id}: its slot cannot share out the flows of ${output.edge_id}`);
  return hopOf(output.targets[0]!.to, instance);
}

function hopOf(to: Target, { id }: InstanceSpec): number {
  if (to.kind === 'hop') return to.hop;
  const where = to.kind === 'exit' ? `the exit ${to.exit_id}` : to.instance_id;
  throw new NoSuchHop(`${id}: its slot hangs on a switch and leads to ${where}, which is no hop`);
}
