import { createRequire } from 'node:module';
import { PlanStrategy } from '@orrery/contract';
import { z } from 'zod';
import { WorkerThread } from '../../../platform/worker-thread/worker-thread.js';
import { ratioOf } from '../ratio.js';
import { defineScenario, type Stage } from '../scenario.js';
import { type Graph, linearChain, type Rack, randomGraph } from './igraph.js';
import type { PlaceJob } from './place-thread.js';
import type { Component, Throughput } from './saturation.js';

const SOURCE = 'E2 Fig. 3.8';
/** E2 3.6.2: over random placement, of the two graphs; from 2.25 to 2.59. */
const PUBLISHED_RANDOM = 2.25;
/** The same: packing, of E2's placement, on the random graph. */
const PUBLISHED_PACKING = 0.78;
const CHAIN_NFS = 5;
const GRAPH_NFS = 10;
/** So much of the cores' budget the instance graph takes: packing needs some room. */
const FILL = 0.9;
/** Of a placement, which takes a fraction of a second on a machine that does nothing else. */
const PLACE_LIMIT_MS = 60_000;
const MEMORY_MB = 512;
/** Gbit/s that a core does, over which the throughput is plotted. */
const SWEEP_GBPS = [0.5, 1, 1.5, 2, 3, 4];

const Parameters = z.object({
  servers: z
    .int()
    .min(2)
    .max(48)
    .default(24)
    .meta({ title: 'Servers', description: 'and as many external ports of the switch' }),
  cores: z.int().min(1).max(32).default(16).meta({ title: 'Cores of a server', unit: 'cores' }),
  link_gbps: z
    .number()
    .min(1)
    .max(100)
    .default(10)
    .meta({ title: 'Rate of a port', unit: 'Gbit/s', description: 'to a server, and to the outside' }),
  gbps_per_core: z
    .number()
    .min(0.2)
    .max(20)
    .default(2)
    .meta({ title: 'Rate of a core', unit: 'Gbit/s', description: 'that it does of the mean NF' }),
  runs: z.int().min(1).max(20).default(5).meta({ title: 'Seeds', description: 'of which the mean is taken' }),
});
type Parameters = z.output<typeof Parameters>;

interface Kind {
  readonly name: string;
  readonly graph: (seed: number) => Graph;
}
const KINDS: readonly Kind[] = [
  { name: `chain of ${CHAIN_NFS}`, graph: (seed) => linearChain(CHAIN_NFS, seed) },
  { name: `random graph of ${GRAPH_NFS}`, graph: (seed) => randomGraph(GRAPH_NFS, seed) },
];
const [CHAIN, RANDOM] = KINDS as [Kind, Kind];

/** The most that a rack carries with the placements that E2 compares, computed by the planner's own placement. */
export const E2_PLACEMENT = defineScenario({
  id: 'e2-placement',
  title: 'Throughput of a rack by placement',
  summary:
    'Fills a rack of 24 servers with instances of a chain and of random graphs, places them as E2 does and in the ways it is compared with, and computes what the rack carries until a core, a link or the switch is full. No packet is sent.',
  source: 'E2 3.6.2, Fig. 3.8',
  duration_s: 60,
  parameters: Parameters,
  faults: ({ servers, cores }) =>
    servers * cores < GRAPH_NFS
      ? [
          {
            pointer: '/parameters/cores',
            detail: `makes ${servers * cores} cores on ${servers} servers, fewer than the ${GRAPH_NFS} NFs of a graph`,
            code: 'too-few-cores',
          },
        ]
      : [],
  needs: () => [],
  steps: (parameters) => [
    ...KINDS.map((kind) => ({
      title: `Place a ${kind.name} NFs`,
      run: (stage: Stage) => compare(stage, kind, parameters),
    })),
    { title: 'Place them with NFs of other costs', run: (stage) => sweep(stage, parameters) },
  ],
});

function rackOf({ servers, cores, link_gbps }: Parameters, gbpsPerCore: number): Rack {
  const link_bps = link_gbps * 1e9;
  return { servers, cores, link_bps, bps_per_core: gbpsPerCore * 1e9, switch_bps: 2 * servers * link_bps };
}

type Placer = WorkerThread<PlaceJob, Throughput | null>;

/** Placements block their thread, so they have one of their own. */
async function withPlacer<T>(work: (placer: Placer) => Promise<T>): Promise<T> {
  const file = createRequire(import.meta.url).resolve('@orrery/server/threads/place-thread');
  const placer: Placer = new WorkerThread({ file, most_waiting: 1, fresh: false, memory_mb: MEMORY_MB });
  try {
    return await work(placer);
  } finally {
    await placer.stop();
  }
}

interface Mean {
  readonly mean_bps: number;
  /** What was full, of one seed or another. */
  readonly binds: readonly Component[];
}

/** By strategy, the mean over the seeds; one that found no placement for a seed is left out. */
async function means(
  { signal }: Stage,
  placer: Placer,
  { graph }: Kind,
  rack: Rack,
  runs: number,
): Promise<ReadonlyMap<PlanStrategy, Mean>> {
  const found = new Map<PlanStrategy, Mean>();
  for (const strategy of PlanStrategy.options) {
    const all: Throughput[] = [];
    for (let seed = 1; seed <= runs; seed++) {
      signal.throwIfAborted();
      const one = await placer.run({ graph: graph(seed), rack, fill: FILL, strategy, seed }, PLACE_LIMIT_MS);
      if (one) all.push(one);
    }
    const mean_bps = all.reduce((sum, { max_bps }) => sum + max_bps, 0) / runs;
    if (all.length === runs) found.set(strategy, { mean_bps, binds: [...new Set(all.map(({ binds }) => binds))] });
  }
  return found;
}

async function compare(stage: Stage, kind: Kind, parameters: Parameters): Promise<void> {
  const rack = rackOf(parameters, parameters.gbps_per_core);
  const found = await withPlacer((placer) => means(stage, placer, kind, rack, parameters.runs));
  const of = (strategy: PlanStrategy) => found.get(strategy)?.mean_bps;
  for (const strategy of PlanStrategy.options) {
    const own = found.get(strategy);
    stage.figure({
      name: `${kind.name}, ${strategy}`,
      unit: 'Gbit/s',
      published: null,
      here: own ? own.mean_bps / 1e9 : null,
      source: SOURCE,
      modelled: true,
      note: own ? `full then: ${own.binds.join(', ')}` : 'found no placement',
    });
  }
  stage.figure({
    name: `${kind.name}, e2 : random`,
    unit: '',
    published: PUBLISHED_RANDOM,
    here: ratioOf(of('e2'), of('random')),
    source: `${SOURCE}: 2.25 to 2.59 of the two graphs`,
    modelled: true,
    bar: { least: 1, most: null },
    note: 'E2 does not tell what its NFs cost, on which this depends: see the plot',
  });
  stage.figure({
    name: `${kind.name}, packing : e2`,
    unit: '',
    published: kind === RANDOM ? PUBLISHED_PACKING : null,
    here: ratioOf(of('packing'), of('e2')),
    source: SOURCE,
    modelled: true,
    bar: { least: null, most: 1.01 },
    note: kind === CHAIN ? '"does well on a simple chain"' : `mean of ${parameters.runs} graphs of our own`,
  });
}

function sweep(stage: Stage, parameters: Parameters): Promise<void> {
  return withPlacer(async (placer) => {
    for (const kind of KINDS) {
      const points = new Map(PlanStrategy.options.map((strategy) => [strategy, [] as [number, number][]]));
      for (const [i, gbps] of SWEEP_GBPS.entries()) {
        stage.note(`${kind.name}, ${gbps} Gbit/s a core`, i / SWEEP_GBPS.length);
        const found = await means(stage, placer, kind, rackOf(parameters, gbps), parameters.runs);
        for (const [strategy, { mean_bps }] of found) points.get(strategy)!.push([gbps, mean_bps / 1e9]);
      }
      stage.plot({
        title: `Throughput of the rack, ${kind.name}`,
        source: SOURCE,
        x: { label: 'done by a core of the mean NF', unit: 'Gbit/s' },
        y: { label: 'throughput', unit: 'Gbit/s' },
        series: [...points].map(([name, own]) => ({ name, published: false, modelled: true, points: own })),
      });
    }
  });
}
