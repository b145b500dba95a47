import {
  Admissions,
  CHAIN_STRATEGIES,
  type ChainOptions,
  chain,
  prepareNetwork,
  route,
  seededRandom,
  serveInTurn,
} from '@orrery/planner';
import { bestPath, mixedNetwork, randomSla } from '../src/testing/chaining.js';
import { cpuMs, type Figure, sized } from './measure.js';

const SLAS = sized(10_000, 200);
const HYPER: ChainOptions = { strategy: 'hyper', seed: 1 };

/** 10,000 random SLAs over 20 instances (HYPER VII-C). */
export function chainingFigures(): Figure[] {
  const source = mixedNetwork(1);
  const network = prepareNetwork(source);
  const random = seededRandom(7);
  const slas = Array.from({ length: SLAS }, () => randomSla(random, source));
  const perSla = (run: (options: ChainOptions) => void, options: ChainOptions) =>
    (cpuMs(() => run(options)) * 1000) / SLAS;
  const paths = (options: ChainOptions) => {
    for (const sla of slas) route(network, sla, options);
  };
  const answers = (options: ChainOptions) => {
    for (const sla of slas) chain(network, sla, options);
  };
  const sample = slas.slice(0, sized(500, 20));
  const equal = sample.filter((sla) => {
    const best = bestPath(source, sla);
    const { latency_us, status } = chain(network, sla, HYPER);
    return best === null ? status === 'impossible' : Math.abs(best.latency_us - latency_us!) < 1e-6;
  });
  const served = slas.slice(0, 1000);
  const kept = (strategy: ChainOptions['strategy']) =>
    (100 *
      serveInTurn(
        network,
        served.map((request, i) => ({ request, ended: i < 20 ? [] : [i - 20] })),
        { strategy, seed: 1 },
      ).qualified) /
    served.length;
  const functionOnly = perSla(paths, { strategy: 'function-only', seed: 1 });
  return [
    {
      name: 'HYPER chain, path alone',
      value: perSla(paths, HYPER),
      unit: 'us/SLA',
      better: 'lower',
      bar: 5,
      baseline: functionOnly,
    },
    { name: 'HYPER chain, with all reasons', value: perSla(answers, HYPER), unit: 'us/SLA', better: 'lower', bar: 50 },
    {
      name: 'HYPER chain, equal to brute force',
      value: (100 * equal.length) / sample.length,
      unit: '%',
      better: 'higher',
      bar: 100,
    },
    requestFigure(),
    ...CHAIN_STRATEGIES.map(
      (strategy): Figure => ({
        name: `SLAs kept, 20 flows at a time, ${strategy}`,
        value: kept(strategy),
        unit: '%',
        better: 'higher',
      }),
    ),
  ];
}

/** Service requests in bulk, each on what the former ones left of 20 instances: decided, booked, and told apart by class. */
function requestFigure(): Figure {
  const network = mixedNetwork(1);
  const random = seededRandom(11);
  const { functions, nodes } = network;
  const instances = network.instances.map((it) => ({
    id: it.id,
    nf: functions[it.function]!,
    place: nodes[it.node]!.id,
    latency_us: it.latency_us,
    measured: true,
    rate_bps: 40e9,
    booked_bps: 0,
    measured_bps: 0,
  }));
  const index = new Map(nodes.map(({ id }, v) => [id, v]));
  const state = {
    functions,
    instances,
    options: [],
    entry_us: () => 1,
    transit_us: (from: string, to: string) => network.transit_us[index.get(from)!]![index.get(to)!]!,
  };
  const asked = Array.from({ length: sized(4000, 100) }, (_, i) => ({
    id: `r-${i}`,
    from: ['client'],
    match: [
      { attribute: 'ip.dst', op: 'is' as const, value: `10.0.${i >> 8}.${i & 255}` },
      { attribute: 'port.dst', op: 'is' as const, value: 80 },
    ],
    functions: functions.filter((_f, k) => k === i % functions.length || random() < 0.5),
    latency_us: 10 + 60 * random(),
    throughput_bps: 1e6 + 50e6 * random(),
  }));
  const ms = cpuMs(() => {
    const admissions = new Admissions({ state, ways: [], held: [], classes: 0, edges_left: 600 });
    for (const request of asked) admissions.decide(request, false);
  });
  return {
    name: 'Service request in bulk, decided and booked (published for a SLA: 1,200 us)',
    value: (ms * 1000) / asked.length,
    unit: 'us/request',
    better: 'lower',
    bar: 100,
  };
}
