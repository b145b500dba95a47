import { ipv4Of } from '../address.js';
import { freeNames, freeTraffic, hosts, nfs, runningTwin } from '../needs.js';
import { defineScenario } from '../scenario.js';
import { CHAIN, NF_KINDS } from './chain.js';
import { compare } from './comparison.js';
import { Parameters } from './parameters.js';
import { chainOf, type Memory, observe, prepare, split, warmUp } from './run.js';

/** Splitting an instance under load (E2 3.4.4, Figures 3.9 and 3.10). */
export const E2_SPLIT = defineScenario({
  id: 'e2-split',
  title: 'One instance becomes two under load',
  summary:
    'Flows of published sizes and lifetimes pass one instance of an NF with state by flow. It is split in two: flows in progress stay, new ones are shared out (migration avoidance), or, as strawmen, half of them move with their state, or the switch keeps each by an entry. Shows how fast the load evens out, what it costs in latency and entries of the switch, and that no packet is lost.',
  source: 'E2 3.6.2, Figures 3.9 and 3.10',
  duration_s: 95,
  watch: 'topology',
  parameters: Parameters,
  faults: ({ from, to, flows, first_nf }) => [
    ...(from === to ? [{ pointer: '/parameters/to', detail: 'must not be the sending host', code: 'same-host' }] : []),
    ...(first_nf && flows === 'migrate'
      ? [{ pointer: '/parameters/first_nf', detail: 'is for flows that stay', code: 'not-migrate' }]
      : []),
  ],
  needs: (parameters) => [
    runningTwin(),
    nfs(...NF_KINDS),
    hosts(parameters.from, parameters.to),
    freeNames(CHAIN),
    freeTraffic(async (api) => {
      const address = await ipv4Of(api, parameters.to);
      return address ? [chainOf(parameters, address)] : [];
    }),
  ],
  steps: (parameters) => {
    const memory = {} as Memory;
    return [
      { title: 'Deploy the chain with one instance', run: (stage) => prepare(stage, memory, parameters) },
      { title: 'Send flows until as many end as begin', run: (stage) => warmUp(stage, memory, parameters) },
      { title: 'Split the instance', run: (stage) => split(stage, memory, parameters) },
      { title: 'Observe the load', run: (stage) => observe(stage, memory, parameters) },
      { title: 'Compare', run: (stage) => compare(stage, memory, parameters) },
    ];
  },
});
