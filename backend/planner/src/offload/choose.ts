import type { Constraint, FabricRule, Plan } from '@orrery/contract';
import { requireTime } from '../budget.js';
import { metadataLayouts } from '../lower/metadata.js';
import { lowerFabric } from '../lower/switch/lower-fabric.js';
import { rulesBeforeHops } from '../lower/switch/table-use.js';
import type { Draft } from '../plan/draft.js';
import type { Stays } from './candidates.js';
import { type OnSwitch, onSwitches } from './on-switches.js';

export interface Refused {
  readonly pgraph_node: string;
  readonly constraint: Constraint;
  readonly because: string;
}

/**
 * Those of the candidates for which the switches have the abilities and the entries left that any placement leaves, most traffic
 * saved first (E2 3.4.1 step 5). Errors: `OutOfTime`.
 */
export function fitting(
  { input, recall }: Draft,
  candidates: readonly OnSwitch[],
): { readonly taken: readonly OnSwitch[]; readonly refused: readonly Refused[] } {
  const { chains, descriptors, infrastructure, base, switches = new Map(), budget } = input;
  const layouts = metadataLayouts(chains, descriptors, base, recall);
  const { classes, guards } = rulesBeforeHops(infrastructure, chains, layouts, recall);
  const lowered = (taken: readonly OnSwitch[]) => {
    const { nfs } = onSwitches(taken);
    const rules = classes.map((rule): FabricRule => {
      const own = nfs.get(rule.id.replace(/^classify\//, ''));
      return own && rule.kind === 'classify' ? { ...rule, nfs: [...own] } : rule;
    });
    return lowerFabric(infrastructure, switches, [...rules, ...guards], budget);
  };
  const ordered = candidates.toSorted((a, b) => b.load_bps - a.load_bps);
  let taken: readonly OnSwitch[] = [];
  const refused: Refused[] = [];
  const cut = new Set<string>();
  for (const candidate of ordered) {
    requireTime(budget);
    if (cut.has(candidate.class_edge)) continue;
    const tried = inChainOrder([...taken, candidate], candidates);
    const { conflicts, faults } = lowered(tried);
    const [constraint] = conflicts;
    if (!constraint) taken = tried;
    else {
      cut.add(candidate.class_edge);
      refused.push({ pgraph_node: candidate.pgraph_node, constraint, because: faults[0]! });
    }
  }
  return { taken, refused };
}

function inChainOrder(taken: readonly OnSwitch[], candidates: readonly OnSwitch[]): OnSwitch[] {
  return candidates.filter((one) => taken.includes(one));
}

/** Without the one that saves the least traffic of those that a switch of the constraints runs, and those behind it. */
export function withoutLeast(
  taken: readonly OnSwitch[],
  conflicts: readonly Constraint[],
): { readonly left: readonly OnSwitch[]; readonly gone: readonly Refused[] } | null {
  const short = conflicts.filter(({ constraint }) => constraint === 'switch-table' || constraint === 'switch-ability');
  const at = new Map(short.map((one) => [one.where, one]));
  const involved = taken.filter(({ switches }) => switches.some((id) => at.has(id)));
  // Of a chain the last: those before it stay at the beginning.
  const least = involved.toReversed().reduce<OnSwitch | null>((a, b) => (a && a.load_bps <= b.load_bps ? a : b), null);
  if (!least) return null;
  const constraint = at.get(least.switches.find((id) => at.has(id))!)!;
  const behind = taken.slice(taken.indexOf(least)).filter(({ class_edge }) => class_edge === least.class_edge);
  const because = `With the entries for its chains ${constraint.where} needs ${constraint.needed} and has ${constraint.available}.`;
  return {
    left: taken.filter((one) => !behind.includes(one)),
    gone: behind.map(({ pgraph_node }) => ({ pgraph_node, constraint, because })),
  };
}

/** Why each NF of the chains that ask for it runs on switches or stays on servers. */
export function offloadReasons(
  candidates: readonly OnSwitch[],
  taken: readonly OnSwitch[],
  stay: readonly Stays[],
  refused: readonly Refused[],
  lacksOf: (nf: string) => string | undefined,
): Plan['reasons'] {
  const reason = (subject: string, decision: string, because: string): Plan['reasons'][number] => ({
    part: 'offload',
    subject,
    decision,
    because,
    candidates: [],
    constraint: null,
  });
  return [
    ...stay.map(({ pgraph_node, because }) => reason(pgraph_node, 'stays on servers', because)),
    ...candidates.map(({ pgraph_node, switches, nf }) => {
      const runs = taken.some((one) => one.pgraph_node === pgraph_node);
      const why = refused.find((one) => one.pgraph_node === pgraph_node);
      const lacks = lacksOf(nf);
      const decided = runs
        ? reason(
            pgraph_node,
            `runs on ${switches.join(', ')}`,
            `Its packets enter there, and no packet goes to a server for it.${lacks ? ` ${lacks}` : ''}`,
          )
        : reason(
            pgraph_node,
            'stays on servers',
            why ? `${why.because}.`.replace(/\.\.$/, '.') : 'An NF before it in its chain stays on servers.',
          );
      return {
        ...decided,
        candidates: switches.map((name) => ({
          name,
          chosen: runs,
          feasible: runs,
          figure: null,
          unit: '',
          constraint: why?.constraint.where === name ? why.constraint : null,
        })),
        constraint: why?.constraint ?? null,
      };
    }),
  ];
}
