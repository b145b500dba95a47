import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { NfDescriptor } from '@orrery/contract';
import { expect, it } from 'vitest';
import { seededRandom, shuffled } from '../random.js';
import { buildSpg, type SpgStrategy, STRATEGIES } from './construction/build.js';
import { nfsOf, type Series } from './construction/series.js';
import { dependencies } from './dependency/dependencies.js';
import { mergeBranches, sendsOriginal } from './merging/branches.js';

const PRODUCT = new URL('../../../../', import.meta.url);
const NFS = new URL('agents/nfs/', PRODUCT);
const FORMS = fileURLToPath(new URL('agents/engine/tests/generated/planned_forms.json', PRODUCT));
const CHAINS = 24;
/** Of the chains, so many at least have a parallel step within a branch of another. */
const NESTED = 8;

const catalogue = readdirSync(NFS, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .flatMap(({ name }) => {
    const folder = new URL(`${name}/`, NFS);
    if (!readdirSync(folder).includes('descriptor.json')) return [];
    return [NfDescriptor.parse(JSON.parse(readFileSync(new URL('descriptor.json', folder), 'utf8')))];
  })
  .sort((a, b) => a.id.localeCompare(b.id, 'en'));

/** The graph on one line, with positions in the chain; an empty branch goes straight from mirror to merge. */
function text(series: Series, chain: readonly NfDescriptor[]): string {
  return series
    .map((step) => {
      if (step.kind === 'nf') return `${step.nf}`;
      const original = sendsOriginal(step.branches.map((branch) => nfsOf(branch).map((nf) => chain[nf]!)));
      return `(${[...step.branches.map((branch) => text(branch, chain)), ...(original ? [''] : [])].join('|')})`;
    })
    .join(',');
}

const depth = (series: Series): number =>
  Math.max(0, ...series.flatMap((step) => (step.kind === 'nf' ? [] : step.branches.map((it) => 1 + depth(it)))));

const pairsOf = (chain: readonly NfDescriptor[]) =>
  dependencies(
    chain.map(({ id }, i) => ({ id: `${i}`, nf: id })),
    catalogue,
  );

function pairs() {
  return catalogue.flatMap((earlier) =>
    catalogue.map((later) => {
      const chain = [earlier, later];
      const series: Series = [{ kind: 'parallel', branches: [0, 1].map((nf) => [{ kind: 'nf', nf }]) }];
      return { nfs: chain.map(({ id }) => id), parallel: pairsOf(chain)[0]!.parallel, form: text(series, chain) };
    }),
  );
}

/** Chains of three to five NFs with parallel steps, in the forms that the planner's strategies give them. */
function chains() {
  const random = seededRandom(12);
  const strategies = (Object.keys(STRATEGIES) as SpgStrategy[]).filter((it) => it !== 'sequential');
  const found = new Map<string, { nfs: string[]; form: string; depth: number }>();
  const nested = () => [...found.values()].filter((it) => it.depth > 1).length;
  for (let seed = 0; found.size < CHAINS; seed++) {
    const length = 3 + (seed % 3);
    // A longer chain has a nested step more often, and what drops packets hardly ever stands beside what follows it.
    const chain = shuffled([...catalogue, ...catalogue.filter(({ actions }) => !actions.may_drop)], random).slice(
      0,
      length,
    );
    const problem = {
      nfs: chain.map(({ id }) => ({ id, latency_us: 1 + Math.floor(random() * 6) })),
      pairs: pairsOf(chain),
      mirror_us: 0,
      merge_us: 0,
    };
    const strategy = strategies[seed % strategies.length]!;
    const { series } = buildSpg(problem, { strategy, seed, budget: { steps: 50 } });
    const of = { nfs: chain.map(({ id }) => id), form: text(series, chain), depth: depth(series) };
    if (of.depth === 0 || (of.depth === 1 && found.size - nested() >= CHAINS - NESTED)) continue;
    found.set(`${of.nfs} ${of.form}`, of);
  }
  return [...found.values()].map(({ nfs, form }) => ({ nfs, form }));
}

/**
 * What the engine's tests run in sequence and in parallel and compare (parallel_catalogue_test.cc): a changed descriptor
 * or analysis changes the file, and the engine must agree with it. `npx vitest run --project planner planned-forms -u`
 * writes it.
 */
it('the engine is tested with the parallel forms of this catalogue', async () => {
  const nfs = catalogue.map((it) => ({ id: it.id, ...mergeBranches([[it], []])[0]! }));
  const line = (it: object) => `    ${JSON.stringify(it)}`;
  const list = (them: readonly object[]) => `[\n${them.map(line).join(',\n')}\n  ]`;
  const content = `{\n  "nfs": ${list(nfs)},\n  "pairs": ${list(pairs())},\n  "chains": ${list(chains())}\n}\n`;
  await expect(content).toMatchFileSnapshot(FORMS);
});
