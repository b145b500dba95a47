import {
  type Candidate,
  type Constraint,
  nfInstances,
  type Plan,
  type PlannedChain,
  type Quality,
} from '@orrery/contract';
import { type Quantity, quantityText, scaleOf } from '../format/quantity.js';

const UNITS: Record<string, Quantity> = { bps: 'bps', us: 'us', bytes: 'bytes', pps: 'pps', share: 'share' };

const SINGULAR: Record<string, string> = {
  instances: 'instance',
  cores: 'core',
  entries: 'entry',
  tasks: 'task',
  hops: 'hop',
  'free slots': 'free slot',
  'usable boards': 'usable board',
};

/** Text of a figure of a plan with its unit. */
export function amount(value: number, unit: string): string {
  const quantity = UNITS[unit];
  if (quantity) return quantityText(quantity, value);
  const digits = Math.abs(value) >= 1000 ? quantityText('count', value) : String(Number(value.toPrecision(3)));
  const name = digits === '1' ? (SINGULAR[unit] ?? unit) : unit;
  return name === '' ? digits : `${digits} ${name}`;
}

/** Two figures with as many digits as tell them apart; null: they are the same to a millionth. */
export function apart(a: number, b: number, unit: string): readonly [string, string] | null {
  const [first, second] = [amount(a, unit), amount(b, unit)];
  if (first !== second) return [first, second];
  const { divisor, unit: scale } = scaleOf(UNITS[unit] ?? 'count', Math.max(Math.abs(a), Math.abs(b)));
  const name = [scale, UNITS[unit] ? '' : unit].filter(Boolean).join(' ');
  for (let digits = 4; digits <= 7; digits++) {
    const [x, y] = [a, b].map((value) => String(Number((value / divisor).toPrecision(digits)))) as [string, string];
    if (x !== y) return [`${x} ${name}`, `${y} ${name}`];
  }
  return null;
}

/** Cores to two digits; a small load is never shown as zero. */
export function coresText(cores: number): string {
  if (cores === 0) return '0';
  return cores < 0.01 ? '< 0.01' : cores.toFixed(2);
}

export function cyclesText(cyclesPerSecond: number): string {
  return amount(cyclesPerSecond, 'cycles/s');
}

/** A phrase as a sentence. */
export function sentence(phrase: string): string {
  const begun = phrase.slice(0, 1).toUpperCase() + phrase.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

interface Words {
  /** The scarce resource. */
  readonly name: string;
  /** What to change. */
  readonly remedy: string;
}

const CONSTRAINTS: Record<Constraint['constraint'], Words> = {
  cpu: { name: 'Processor', remedy: 'Lower the expected rate, take a function out, or add cores.' },
  memory: { name: 'Memory', remedy: 'Take a function out or give the server more memory.' },
  'nic-bandwidth': { name: 'Bandwidth of the network card', remedy: 'Lower the expected rate or use a faster card.' },
  'link-bandwidth': { name: 'Bandwidth of the link', remedy: 'Lower the expected rate or use a faster link.' },
  'switch-table': { name: 'Entries in the switch’s table', remedy: 'Split traffic by fewer conditions.' },
  'engine-ability': {
    name: 'What the data plane can run',
    remedy: 'Run the chain in sequence and its instances in turn, or use servers whose engine can do more.',
  },
  'switch-ability': { name: 'What the switch can do', remedy: 'Use another switch, or ask for less in the filter.' },
  'switch-program': {
    name: 'A switch with a P4 program of its own',
    remedy: 'Give the switch back to the fabric on Topology, or place and attach elsewhere: it carries no chain.',
  },
  'switch-path': {
    name: 'A way between switches',
    remedy: 'Link the switch to those where the chain runs, or place and attach elsewhere.',
  },
  affinity: { name: 'Affinity', remedy: 'Use another flow key for the function.' },
  'max-instances': {
    name: 'Number of instances',
    remedy: 'Lower the expected rate: the function allows no more copies.',
  },
  latency: { name: 'Latency', remedy: 'Relax the objective or shorten the chain.' },
  throughput: { name: 'Throughput', remedy: 'Relax the objective or lower the rate of the other chains.' },
  metadata: { name: 'Metadata bits for filters', remedy: 'Use fewer attributes of NFs in filters.' },
  hops: { name: 'Number of hops', remedy: 'Shorten the chain.' },
  implementation: {
    name: 'Implementation',
    remedy: 'See in the catalogue what each server lacks, or choose a function that this hardware can run.',
  },
  'switch-action': { name: 'Action of the switch', remedy: 'Keep the function on a server.' },
  'cpu-time': { name: 'Processor time between classes', remedy: 'Choose a ratio closer to the offered load.' },
  classifier: { name: 'Telling classes apart', remedy: 'Let the classes split at an earlier NF.' },
  function: { name: 'Function', remedy: 'Place an instance of it.' },
  connection: { name: 'Connection', remedy: 'Join the two places by a link.' },
  capacity: { name: 'Capacity', remedy: 'Lower the expected rate or allow more instances.' },
  deployment: { name: 'What runs', remedy: 'Take down what is in the way first.' },
  excluded: {
    name: 'A part that must not be used',
    remedy: 'Bring the part back into service, or wait until it is back.',
  },
};

export function constraintName(constraint: Constraint['constraint']): string {
  return CONSTRAINTS[constraint]?.name ?? constraint;
}

/** What is short, by how much and where: `Processor on server-1: needs 1.20 cores, has 0.85 cores`. */
export function constraintText({ constraint, needed, available, unit, where, meanwhile }: Constraint): string {
  if (constraint === 'excluded') return `${where} cannot be used: it ${unit === 'is lost' ? unit : 'is excluded'}`;
  if (constraint === 'switch-path') return `no way leads from ${where} to where the chain goes on`;
  if (constraint === 'implementation' && available === 0) return `${where} lacks: ${unit}`;
  if (constraint === 'switch-program') return `${where} runs a P4 program of its own, and carries no chain`;
  if (unit.startsWith('ratio'))
    return `${constraintName(constraint)}: a ratio of ${amount(needed, '')} is required, ${amount(available, '')} is possible on ${where}`;
  const [needs, has] = apart(needed, available, unit) ?? [amount(needed, unit), amount(available, unit)];
  return `${constraintName(constraint)} on ${where}: needs ${needs}${meanwhile ? ' while the plan is applied' : ''}, has ${has}`;
}

/** Shortages that depend on which share of the flows each instance gets, or on how many entries and hops that takes. */
const OF_RANGES: ReadonlySet<Constraint['constraint']> = new Set([
  'cpu',
  'nic-bandwidth',
  'link-bandwidth',
  'switch-table',
  'hops',
]);

/** What to change; `chains`: of the plan. */
export function remedyText(
  { constraint, unit }: Pick<Constraint, 'constraint' | 'unit'>,
  chains: readonly Pick<PlannedChain, 'splits' | 'definition'>[],
): string {
  if (unit === 'free slots') return 'Choose another slot, or allow its NF to be displaced.';
  const remedy = CONSTRAINTS[constraint]?.remedy ?? '';
  const split = chains.flatMap(({ splits = [], definition }) =>
    splits.flatMap(({ node_id, ranges }) => (ranges ? [`${definition.name}.${node_id}`] : [])),
  );
  if (split.length === 0 || !OF_RANGES.has(constraint)) return remedy;
  return `${remedy} Ranges are set for the instances of ${split.join(', ')}: others may fit.`;
}

export function candidateFigure({ figure, unit }: Candidate): string {
  return figure === null ? '' : amount(figure, unit);
}

/** Share that a better result could save at most; never rounded to zero. */
export function gapText(gap: number): string {
  return gap > 0 ? quantityText('share', Math.max(gap, 0.0001)) : '0 %';
}

/** Proven quality of all results, as one phrase. */
export function qualityText(answers: readonly Quality[]): string {
  if (answers.length === 0) return 'nothing to decide';
  const open = answers.filter(({ optimal }) => !optimal);
  if (open.length === 0) return 'proven optimal';
  const worst = Math.max(...open.map(({ gap }) => gap));
  return `at most ${gapText(worst)} from the best`;
}

/** The NFs of a traffic class or a parallel form, in order. */
export function wayText(nodes: readonly string[]): string {
  return nodes.length === 0 ? 'no NF' : nodes.join(' → ');
}

/** The part of a class id after the chain's name: the edges of the class. */
export function edgesOfClass(id: string): string {
  return id.slice(id.indexOf('.') + 1);
}

/** The traffic class of an id, by its NFs. */
export function classText(plan: Plan, id: string): string {
  const found = plan.classes.find((each) => each.id === id);
  return found ? wayText(found.nodes) : edgesOfClass(id);
}

/** Chains with an NF on one of the boards. */
export function chainsOnBoards({ graph }: Pick<Plan, 'graph'>, boards: ReadonlySet<string>): ReadonlySet<string> {
  return new Set(
    nfInstances(graph).flatMap(({ chain_id, board }) => (board && boards.has(board.board) ? [chain_id] : [])),
  );
}

/** How many objectives a plan predicts to be met: of latency and throughput, and between classes. */
export function objectivesMet({ slos, schedules, chains }: Plan): { readonly met: number; readonly all: number } {
  const between = schedules.map(({ feasible, objectives, chain_id }) => {
    const definition = chains.find((each) => each.chain_id === chain_id)?.definition;
    // If no schedule meets all of them, none counts as met.
    return feasible
      ? { met: objectives.filter(({ met }) => met).length, all: objectives.length }
      : { met: 0, all: definition?.class_slos.length ?? 0 };
  });
  return [{ met: slos.filter(({ met }) => met).length, all: slos.length }, ...between].reduce((sum, each) => ({
    met: sum.met + each.met,
    all: sum.all + each.all,
  }));
}

/** Packets per second that are expected on all classes of a chain. */
export function expectedPps({ classes, chains }: Plan, chainId: string): number {
  const definition = chains.find(({ chain_id }) => chain_id === chainId)?.definition;
  const bps = classes.reduce((sum, each) => sum + (each.chain_id === chainId ? each.rate_bps : 0), 0);
  return definition ? bps / (8 * definition.traffic_class.packet_bytes) : 0;
}

/** How many of the objectives are met; a dash where there are none. */
export function metText(objectives: readonly { readonly met: boolean }[]): string {
  return objectives.length === 0 ? '–' : `${objectives.filter(({ met }) => met).length} of ${objectives.length}`;
}
