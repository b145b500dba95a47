import { nfInstances, type PlannedChain } from '@orrery/contract';
import { makePlan } from '../src/plan/make-plan.js';
import { chainOf } from '../src/testing/chains.js';
import { CATALOGUE } from '../src/testing/descriptors.js';
import { rack } from '../src/testing/infrastructure.js';
import { cpuMs, type Figure, fittedExponent } from './measure.js';

/** So many chains of a monitor, a firewall and an IDS, each host with its own. */
function chains(count: number): PlannedChain[] {
  return Array.from({ length: count }, (_, i) => ({
    chain_id: `p-${i}`,
    version: 1,
    definition: {
      ...chainOf({ mon: 'monitor', fw: 'firewall', ids: 'ids' }, [
        ['in', 'mon'],
        ['mon', 'fw'],
        ['fw', 'ids'],
        ['ids', 'out'],
      ]),
      name: `c${i}`,
      traffic_class: {
        from: ['client-1'],
        match: [{ attribute: 'port.dst', op: 'is' as const, value: 1000 + i }],
        rate_bps: 2e9,
        packet_bytes: 800,
      },
    },
  }));
}

/** As the server asks. */
const SEARCH_STEPS = 2000;

/** A whole plan: checked, sized, placed, wired, predicted, and with the steps to it. */
export function planFigures(): Figure[] {
  const infrastructure = rack({ servers: 24, cores: 8, ghz: 2, nic_bps: 1e11, link_bps: 1e11 });
  const points = [1, 4, 16, 64].map((count) => {
    const input = {
      id: 'plan',
      created_ms: 0,
      chains: chains(count),
      descriptors: CATALOGUE,
      infrastructure,
      base: null,
      budget: { steps: SEARCH_STEPS },
    };
    const made = makePlan(input);
    if (!made.feasible) throw new Error(`not feasible: ${JSON.stringify([made.problems[0], made.conflicts[0]])}`);
    return [nfInstances(made.graph).length, cpuMs(() => makePlan(input))] as const;
  });
  return [
    ...points.map(([n, value]): Figure => ({ name: `whole plan, ${n} instances`, value, unit: 'ms', better: 'lower' })),
    { name: 'whole plan, exponent of instances', value: fittedExponent(points), unit: '', better: 'lower' },
  ];
}
