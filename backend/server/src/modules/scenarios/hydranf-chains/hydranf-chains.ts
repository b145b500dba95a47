import { z } from 'zod';
import { ipv4Of, requireIpv4 } from '../address.js';
import { observeCores } from '../busy-cores.js';
import { deployAs, deployChain, takeDown } from '../deploy-chain.js';
import { receiver, sender } from '../fields.js';
import { ensureServer } from '../load.js';
import { freeNames, freeTraffic, hosts, nfs, runningTwin } from '../needs.js';
import { defineScenario, type Stage } from '../scenario.js';
import { figuresOf } from './comparison.js';
import { observe } from './execution.js';
import { definitionOf, type Sfc, sfcs } from './table-6-1.js';

const IDS = ['1', '3', '4', 'synthetic'] as const;

const Parameters = z.object({
  from: sender('client-4'),
  to: receiver('web-2'),
  chain: z
    .enum(['all', ...IDS])
    .default('all')
    .meta({
      title: 'Chain',
      titles: {
        all: 'All',
        1: 'Chain 1 of Table 6.1',
        3: 'Chain 3 of Table 6.1',
        4: 'Chain 4 of Table 6.1',
        synthetic: 'Equal NFs, as in Figure 6.10',
      },
    }),
  packets_per_s: z.number().min(25).max(1000).default(200).meta({ title: 'Probes', unit: 'probes/s' }),
  seconds: z
    .number()
    .min(5)
    .max(60)
    .default(12)
    .meta({ title: 'Measurement', unit: 's', description: 'of each way to run' }),
});
type Parameters = z.output<typeof Parameters>;

/** Chains of HydraNF's experiments, in sequence and in parallel. */
export const HYDRANF_CHAINS = defineScenario({
  id: 'hydranf-chains',
  title: 'Chains in sequence and in parallel',
  summary:
    'Runs the chains of Table 6.1, of our nearest NFs, first in sequence and then, by a plan and under the same traffic, in parallel. Compares latency, cycles, copies and losses with each other, with the plans and with what was published.',
  source: 'HydraNF Table 6.1, Fig. 6.10 to 6.12',
  duration_s: 150,
  watch: 'parallelism',
  parameters: Parameters,
  faults: ({ from, to }) =>
    from === to ? [{ pointer: '/parameters/to', detail: 'must not be the sending host', code: 'same-host' }] : [],
  needs: ({ from, to, chain }) => [
    runningTwin(),
    nfs(...sfcs('0.0.0.0').flatMap((sfc) => sfc.nfs.map(({ nf }) => nf))),
    hosts(from, to),
    freeNames(...IDS.map((id) => `scenario-hydranf-${id}`)),
    freeTraffic(async (api) => {
      const address = await ipv4Of(api, to);
      if (!address) return [];
      return chosenOf(sfcs(address), chain)
        .slice(0, 1)
        .map((sfc) => definitionOf(sfc, from, address));
    }),
  ],
  steps: (parameters) => [
    {
      title: `Send ${parameters.packets_per_s} probes per second`,
      async run(stage) {
        const { from, to, packets_per_s: rate_per_s } = parameters;
        await ensureServer(stage, 'probe-server', to);
        const config = { to, rate_per_s };
        await stage.make('application', { id: 'scenario-probe', kind: 'probe', node: from, enabled: true, config });
      },
    },
    ...chosenOf(sfcs('0.0.0.0'), parameters.chain).map(({ id, title }) => ({
      title: `Run ${title} in sequence and in parallel`,
      run: (stage: Stage) => compare(stage, id, parameters),
    })),
  ],
});

function chosenOf(all: readonly Sfc[], chain: Parameters['chain']): readonly Sfc[] {
  return all.filter(({ id }) => chain === 'all' || chain === id);
}

async function compare(stage: Stage, id: string, { from, to, seconds }: Parameters): Promise<void> {
  const address = await requireIpv4(stage.api, to);
  const sfc = sfcs(address).find((each) => each.id === id)!;
  const chainId = await stage.make('chain', definitionOf(sfc, from, address));
  const busyShare = observeCores();
  stage.note('deploying in sequence');
  await deployChain(stage, chainId);
  const one = await deployAs(stage, chainId, { execution: 'sequential' });
  const sequential = await observe(stage, one, chainId, seconds, 'in sequence');
  stage.note('changing to parallel');
  const other = await deployAs(stage, chainId, { execution: 'parallel' });
  const parallel = await observe(stage, other, chainId, seconds, 'in parallel');
  await takeDown(stage, chainId);
  for (const figure of figuresOf(sfc.title, sfc.note, sequential, parallel, busyShare())) stage.figure(figure);
}
