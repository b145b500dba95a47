import { ipv4Of } from '../address.js';
import { percentOf } from '../busy-cores.js';
import { freeNames, freeTraffic, hosts, nfs, runningTwin } from '../needs.js';
import { ratioOf } from '../ratio.js';
import { defineScenario, type Stage } from '../scenario.js';
import { judgementOf, MOST_ERROR } from './allocation.js';
import { Parameters, workersOf } from './parameters.js';
import { attainable, COSTS, PIPELINES, type Pipeline, TREES } from './pipelines.js';
import { prepareClasses } from './senders.js';
import { definitionsOf, NAME, type Outcome, type Served, STRATEGIES, serve } from './serve.js';
import { compareCosts, compareDepths } from './sweeps.js';

/** Schedules that keep ratios between classes under overload, against the strawmen of Alpine 5.5. */
export const ALPINE_SLO = defineScenario({
  id: 'alpine-slo',
  title: 'Ratios between traffic classes under overload',
  summary:
    'Overloads pipelines of busy loops with one stream of packets for each traffic class. Each pipeline is served by the schedule of Alpine, with a queue at every branch, classified first, and run to completion. Compares what the classes get with the ratios that they are to get.',
  source: 'Alpine Fig. 5.4, 5.6 to 5.9, Table 5.3',
  duration_s: 750,
  watch: 'slos',
  parameters: Parameters,
  faults: ({ from, to }) =>
    from === to ? [{ pointer: '/parameters/to', detail: 'must not be the sending host', code: 'same-host' }] : [],
  needs: (parameters) => [
    runningTwin(),
    nfs('busy-loop'),
    hosts(parameters.from, parameters.to),
    freeNames(`${NAME}-drawn`, `${NAME}-classified`),
    freeTraffic(async (api) => {
      const address = await ipv4Of(api, parameters.to);
      return address ? [definitionsOf(address, PIPELINES[1]!, parameters).drawn] : [];
    }),
  ],
  steps: (parameters) => {
    const { pipeline } = parameters;
    const chosen = (all: readonly Pipeline[], id?: string) =>
      all
        .filter((each) => pipeline === 'all' || pipeline === (id ?? each.id))
        .map((each) => attainable(each, parameters));
    const [four, costs, trees] = [chosen(PIPELINES), chosen(COSTS, 'figure-5-8'), chosen(TREES, 'figure-5-9')];
    return [
      {
        title: 'Start a receiver for each class',
        run: (stage) => prepareClasses(stage, [...four, ...costs, ...trees], parameters),
      },
      ...four.map((each) => ({
        title: `Serve ${each.title} by four schedules`,
        run: async (stage: Stage) => tell(stage, each, parameters, await serve(stage, each, STRATEGIES, parameters)),
      })),
      ...(costs.length > 0
        ? [{ title: 'Raise the cost of a packet', run: (stage: Stage) => compareCosts(stage, costs, parameters) }]
        : []),
      ...(trees.length > 0
        ? [{ title: 'Make the tree deeper', run: (stage: Stage) => compareDepths(stage, trees, parameters) }]
        : []),
    ];
  },
});

function tell(
  stage: Stage,
  { title, published, module_us }: Pipeline,
  parameters: Parameters,
  { outcomes, busyShare }: Served,
): void {
  const workers = workersOf(parameters);
  const [alpine, semi, manual, whole] = STRATEGIES.map((strategy) => outcomes.get(strategy)!);
  const by = parameters.objective === 'cpu-time' ? 'cycles' : 'packets';
  for (const strategy of STRATEGIES) {
    const outcome = outcomes.get(strategy)!;
    const isStrawman = strategy === 'run-to-completion';
    stage.figure({
      name: `${title}: error by ${by}, ${strategy}`,
      unit: '%',
      published: isStrawman ? 60 : 100 * MOST_ERROR[workers],
      here: outcome.error === null ? null : 100 * outcome.error,
      source: isStrawman ? 'Alpine 5.5.2: about' : 'Alpine 5.5.2: less than',
      note: `${outcome.tasks} tasks; ${aboutError(outcome)}`,
    });
  }
  stage.figure({
    name: `${title}: error, Alpine : run to completion`,
    unit: '',
    published: MOST_ERROR[workers] / 0.6,
    here: ratioOf(alpine!.error, whole!.error),
    source: 'Alpine 5.5.2: less than',
    ...judgementOf(workers, alpine!.cores),
  });
  const compare = (name: string, here: number | null, figure: number | null, source: string, note: string) =>
    stage.figure({ name: `${title}: ${name}`, unit: '', published: figure, here, source, note });
  compare(
    'throughput, Alpine : manual',
    ratioOf(alpine!.pps, manual!.pps),
    workers === 1 ? published : 1.686,
    workers === 1 ? 'Alpine Fig. 5.4, Table 5.3' : 'Alpine Fig. 5.7, mean',
    `modules of ${module_us} us, beside which queues cost nothing; the classifier is one more`,
  );
  compare(
    'throughput, Alpine : semi-manual',
    ratioOf(alpine!.pps, semi!.pps),
    workers === 1 ? 1.479 : 1.373,
    workers === 1 ? 'Alpine Fig. 5.6, mean' : 'Alpine Fig. 5.7, mean',
    '',
  );
  compare(
    'throughput, Alpine : run to completion',
    ratioOf(alpine!.pps, whole!.pps),
    workers === 1 ? 5.6 / 7.8 : null,
    'Alpine Fig. 5.4',
    'run to completion ignores the ratios',
  );
  compare(
    'latency p50, Alpine : manual',
    ratioOf(alpine!.p50_us, manual!.p50_us),
    workers === 1 ? 0.701 : 0.716,
    workers === 1 ? 'Alpine Fig. 5.6, mean' : 'Alpine Fig. 5.7, mean',
    `under overload: the time in full queues; cores of the machine busy for ${percentOf(busyShare)} of the time`,
  );
}

function aboutError({ silent }: Outcome): string {
  if (silent.length > 0) return `class ${silent.map((c) => c + 1).join(', ')} did not send all the time`;
  return 'sum over classes of the difference between the share that each got and was to get';
}
