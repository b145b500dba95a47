import { nfInstances, type Plan } from '@orrery/contract';
import { type Quantity, quantityText } from '../../shared/format/quantity.js';
import type { Dimension } from '../../shared/plan/plan-choices.js';
import { coresText, objectivesMet } from '../../shared/plan/plan-text.js';

/** Something by which plans are compared. */
export interface Figure {
  readonly id: string;
  readonly label: string;
  readonly better: 'low' | 'high';
  /** The value in the plan; null if it has none. */
  readonly value: (plan: Plan, chainId: string) => number | null;
  readonly text: (value: number) => string;
  /** Differences of counts and shares are absolute, not relative. */
  readonly absolute?: boolean;
  /** The dimensions that decide it. */
  readonly of: readonly Dimension[];
}

const most = (values: readonly number[]): number | null => (values.length === 0 ? null : Math.max(...values));
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const own = <T extends { readonly chain_id: string }>(items: readonly T[], id: string) =>
  items.filter(({ chain_id }) => chain_id === id);
const as = (quantity: Quantity) => (value: number) => quantityText(quantity, value);
const schedule = (plan: Plan, id: string) => plan.schedules.find((each) => each.chain_id === id && each.feasible);

/** The figures of a comparison; chain figures are those of the chain that is planned. */
export const FIGURES: readonly Figure[] = [
  {
    id: 'cross',
    label: 'Traffic between servers',
    better: 'low',
    of: ['strategy'],
    value: ({ cost }) => cost.cross_traffic_bps,
    text: as('bps'),
  },
  {
    id: 'gap',
    label: 'Gap to the bound',
    better: 'low',
    of: ['strategy'],
    value: ({ quality }) => quality.find(({ part }) => part === 'placement')?.gap ?? null,
    text: as('share'),
    absolute: true,
  },
  {
    id: 'cores',
    label: 'Cores',
    better: 'low',
    of: ['strategy'],
    value: ({ cost }) => cost.cores_used,
    text: coresText,
  },
  {
    id: 'instances',
    label: 'Instances',
    better: 'low',
    of: ['strategy'],
    value: ({ graph }) => nfInstances(graph).length,
    text: String,
    absolute: true,
  },
  {
    id: 'p99',
    label: 'Worst p99',
    better: 'low',
    of: ['strategy', 'chaining'],
    value: (plan, id) => most(own(plan.classes, id).map(({ p99_us }) => p99_us)),
    text: as('us'),
  },
  {
    id: 'way',
    label: 'Slowest path of a flow',
    better: 'low',
    of: ['chaining', 'strategy'],
    value: (plan, id) => most(own(plan.classes, id).flatMap(({ way }) => (way ? [way.latency_us] : []))),
    text: as('us'),
  },
  {
    id: 'met',
    label: 'Objectives met',
    better: 'high',
    of: ['strategy', 'scheduling'],
    value: (plan) => objectivesMet(plan).met,
    text: String,
    absolute: true,
  },
  {
    id: 'parallel',
    label: 'Slowest path in parallel form',
    better: 'low',
    of: ['parallelization'],
    value: (plan, id) => most(own(plan.parallel, id).map(({ latency_us }) => latency_us)),
    text: as('us'),
  },
  {
    id: 'copies',
    label: 'Copies of a packet',
    better: 'low',
    of: ['parallelization'],
    value: (plan, id) =>
      own(plan.parallel, id).length > 0 ? sum(own(plan.parallel, id).map(({ copies }) => copies)) : null,
    text: String,
    absolute: true,
  },
  {
    id: 'tasks',
    label: 'Tasks',
    better: 'low',
    of: ['scheduling'],
    value: (plan, id) => schedule(plan, id)?.tasks.length ?? null,
    text: String,
    absolute: true,
  },
  {
    id: 'carries',
    label: 'Schedule carries',
    better: 'high',
    of: ['scheduling'],
    value: (plan, id) => schedule(plan, id)?.throughput_pps ?? null,
    text: as('pps'),
  },
  {
    id: 'idle',
    label: 'Idle share',
    better: 'low',
    of: ['scheduling'],
    value: (plan, id) => schedule(plan, id)?.idle_share ?? null,
    text: as('share'),
    absolute: true,
  },
  {
    id: 'slo-error',
    label: 'Error of class objectives',
    better: 'low',
    of: ['scheduling'],
    value: (plan, id) => schedule(plan, id)?.slo_error ?? null,
    text: as('share'),
    absolute: true,
  },
];

/** First the figures that the dimension determines, then the rest, which should be equal. */
export function figuresFor(dimension: Dimension): readonly Figure[] {
  const decides = (figure: Figure) => figure.of.includes(dimension);
  return [...FIGURES.filter(decides), ...FIGURES.filter((figure) => !decides(figure))];
}

/** The best of some values; null if all are equal. */
export function bestOf(better: Figure['better'], values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return null;
  const low = Math.min(...known);
  const high = Math.max(...known);
  if (alike(low, high)) return null;
  return better === 'low' ? low : high;
}

/** No visible difference: below three significant digits. */
export function alike(a: number, b: number): boolean {
  return Math.abs(a - b) <= 5e-4 * Math.max(Math.abs(a), Math.abs(b), 1e-9);
}

/** A value relative to the chosen one: `+12.0 %`, `−1`; empty if they are equal. */
export function deltaText(figure: Figure, value: number, chosen: number): string {
  if (alike(value, chosen)) return '';
  const sign = value > chosen ? '+' : '−';
  if (figure.absolute || chosen === 0) return `${sign}${figure.text(Math.abs(value - chosen))}`;
  const share = Math.abs(value / chosen - 1);
  if (share >= 9.995) return `×${Number((value / chosen).toPrecision(2))}`;
  return `${sign}${quantityText('share', share)}`;
}
