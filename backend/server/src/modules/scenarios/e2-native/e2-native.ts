import { z } from 'zod';
import { ipv4Of, requireIpv4 } from '../address.js';
import { deployAs, takeDown } from '../deploy-chain.js';
import { receiver, sender } from '../fields.js';
import { freeNames, freeTraffic, hosts, nfs, runningTwin } from '../needs.js';
import { defineScenario, type Stage } from '../scenario.js';
import { COMPARISONS, type Comparison, comparisons, definitionOf, type Form, nameOf } from './comparisons.js';
import { figuresOf } from './figures.js';
import { type Observed, observe, rateOf } from './observe.js';
import { prepareFlood, send } from './traffic.js';

const FLOOD_S = 6;

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

const Parameters = z.object({
  from: sender('client-4'),
  to: receiver('web-2'),
  compare: z
    .enum(['all', ...COMPARISONS])
    .default('all')
    .meta({
      title: 'Compared',
      titles: Object.fromEntries([['all', 'All'], ...comparisons.map(({ id, title }) => [id, capital(title)])]),
    }),
  packets_per_s: z.number().min(25).max(1000).default(100).meta({ title: 'Probes and requests', unit: 'per second' }),
  seconds: z
    .number()
    .min(5)
    .max(60)
    .default(10)
    .meta({ title: 'Measurement', unit: 's', description: 'of each chain' }),
});
type Parameters = z.output<typeof Parameters>;

/** What E2's native API saves, on the engines of the twin. */
export const E2_NATIVE = defineScenario({
  id: 'e2-native',
  title: 'Native NFs, metadata and streams',
  summary:
    'Builds the same chain in two ways, one after the other and under the same traffic: of NFs in the engine and of unmodified programs on raw sockets, with branches by headers and by metadata, with detectors that share the reassembly of streams and that do not, with a URL that is told and one that is parsed again.',
  source: 'E2 Tables 3.1, 3.2, Fig. 3.6, 3.7',
  duration_s: 200,
  parameters: Parameters,
  faults: ({ from, to }) =>
    from === to ? [{ pointer: '/parameters/to', detail: 'must not be the sending host', code: 'same-host' }] : [],
  needs: ({ from, to, compare }) => [
    runningTwin(),
    nfs(...chosenOf(compare).flatMap(nfsOf)),
    hosts(from, to),
    freeNames(...comparisons.flatMap((each) => each.forms.map((form) => nameOf(each, form)))),
    freeTraffic(async (api) => {
      const address = await ipv4Of(api, to);
      const [first] = chosenOf(compare);
      return address && first ? [definitionOf(first, first.forms[0]!, from, address)] : [];
    }),
  ],
  steps: (parameters) =>
    chosenOf(parameters.compare).map((comparison) => ({
      title: `Compare ${comparison.title}`,
      run: (stage: Stage) => compare(stage, comparison, parameters),
    })),
});

function chosenOf(compare: Parameters['compare']): readonly Comparison[] {
  return comparisons.filter(({ id }) => compare === 'all' || compare === id);
}

function nfsOf({ forms }: Comparison): string[] {
  return forms.flatMap(({ nodes }) => nodes.flatMap((node) => ('nf' in node ? [node.nf] : [])));
}

async function compare(stage: Stage, comparison: Comparison, parameters: Parameters): Promise<void> {
  const traffic = await send(stage, comparison, parameters, parameters.packets_per_s);
  const flood = comparison.isFlooded ? await prepareFlood(stage, parameters) : null;
  const observed = new Map<string, Observed>();
  for (const form of comparison.forms)
    observed.set(form.id, await observeForm(stage, comparison, form, parameters, flood));
  await traffic(false);
  for (const figure of figuresOf(comparison.id, (form) => observed.get(form)!)) stage.figure(figure);
}

async function observeForm(
  stage: Stage,
  comparison: Comparison,
  form: Form,
  { from, to, seconds }: Parameters,
  flood: ((isOn: boolean) => Promise<void>) | null,
): Promise<Observed> {
  const address = await requireIpv4(stage.api, to);
  const chainId = await stage.make('chain', definitionOf(comparison, form, from, address));
  stage.note(`${form.title}: deploying`);
  const plan = await deployAs(stage, chainId, { execution: 'sequential' });
  const calm = await observe(stage, plan, chainId, seconds, form.title);
  let flood_pps: number | null = null;
  if (flood) {
    await flood(true);
    flood_pps = await rateOf(stage, chainId, FLOOD_S, `${form.title}, flooded`);
    await flood(false);
  }
  await takeDown(stage, chainId);
  return { ...calm, flood_pps };
}
