import { ChainDefinition, nfInstances, sampleKey } from '@orrery/contract';
import { z } from 'zod';
import { median } from '../../../platform/median.js';
import { ipv4Of, requireIpv4 } from '../address.js';
import { observeCores } from '../busy-cores.js';
import { deployChain } from '../deploy-chain.js';
import { nfOf, receiver, sender } from '../fields.js';
import { ensureServer } from '../load.js';
import { freeNames, freeTraffic, hosts, nfs, runningTwin } from '../needs.js';
import { ratioOf } from '../ratio.js';
import { defineScenario, type Stage } from '../scenario.js';
import { historyOf } from '../series.js';
import { judgementOf } from './judgement.js';

const CHAIN = 'scenario-latency';
const PERCENTILES = [50, 99] as const;
/** An objective that is always met: only its prediction is needed. */
const ANY_US = 10_000_000;
const WARM_UP_S = 5;
/** Of an objective, and of the calibration. */
const WINDOW_S = 10;
/** The first begins after the warm-up, and three make a calibration. */
const MOST_CALIBRATION_WINDOWS = 8;

const tolerance = (usual: number, of: string) =>
  z
    .number()
    .min(0.01)
    .max(1)
    .default(usual)
    .meta({
      title: `Tolerance of the ${of}`,
      description: 'largest allowed difference between measured and predicted latency, as a share of the prediction',
    });

const Parameters = z.object({
  from: sender('client-3'),
  to: receiver('web-1'),
  nf: nfOf('monitor'),
  length: z.int().min(1).max(6).default(3).meta({ title: 'Length of the chain', unit: 'NFs' }),
  packets_per_s: z.number().min(25).max(1000).default(100).meta({ title: 'Probes', unit: 'probes/s' }),
  windows: z
    .int()
    .min(1)
    .max(30)
    .default(5)
    .meta({ title: 'Measured windows', description: 'of 10 s each; their medians are compared' }),
  tolerance_p50: tolerance(0.1, 'median'),
  tolerance_p99: tolerance(0.2, '99th percentile'),
});
type Parameters = z.output<typeof Parameters>;

/** Compares a plan's predicted latency with the measured one. */
export const CHAIN_LATENCY = defineScenario({
  id: 'chain-latency',
  title: 'Latency of a chain, predicted and measured',
  summary:
    'Deploys a chain of identical NFs, sends probes through it until the model of latency is calibrated on these machines, and then compares the latency that it predicts with the one measured from the first engine to the exit.',
  source: '',
  duration_s: 105,
  parameters: Parameters,
  faults: ({ from, to }) =>
    from === to ? [{ pointer: '/parameters/to', detail: 'must not be the sending host', code: 'same-host' }] : [],
  needs: (parameters) => [
    runningTwin(),
    nfs(parameters.nf),
    hosts(parameters.from, parameters.to),
    freeNames(CHAIN),
    freeTraffic(async (api) => {
      const address = await ipv4Of(api, parameters.to);
      return address ? [definitionOf(address, parameters)] : [];
    }),
  ],
  steps: (parameters) => {
    const memory: Memory = { chain: '', predicted: new Map(), measured: new Map(), busyShare: 0 };
    return [
      {
        title: `Deploy ${parameters.length} × ${parameters.nf}`,
        async run(stage) {
          memory.chain = await stage.make(
            'chain',
            definitionOf(await requireIpv4(stage.api, parameters.to), parameters),
          );
          await deployChain(stage, memory.chain);
        },
      },
      {
        title: `Send ${parameters.packets_per_s} probes per second`,
        async run(stage) {
          const { from, to, packets_per_s: rate_per_s } = parameters;
          await ensureServer(stage, 'probe-server', to);
          const config = { to, rate_per_s };
          await stage.make('application', { id: 'scenario-probe', kind: 'probe', node: from, enabled: true, config });
          await stage.wait(WARM_UP_S, 'warm-up');
        },
      },
      { title: 'Calibrate the model', run: calibrated },
      { title: 'Measure', run: (stage) => measure(stage, memory, parameters) },
      { title: 'Compare', run: (stage) => compare(stage, memory, parameters) },
    ];
  },
});

function definitionOf(address: string, { from, nf, length }: Parameters): ChainDefinition {
  const ids = Array.from({ length }, (_, n) => `nf-${n + 1}`);
  const path = ['in', ...ids, 'out'];
  return ChainDefinition.parse({
    name: CHAIN,
    title: 'Scenario: latency',
    description: 'Created by the scenario “chain-latency”, which also removes it.',
    traffic_class: { from: [from], match: [{ attribute: 'ip.dst', value: address }], rate_bps: 1_000_000 },
    nodes: [{ id: 'in', kind: 'ingress' }, ...ids.map((id) => ({ id, kind: 'nf', nf })), { id: 'out', kind: 'egress' }],
    edges: path.slice(1).map((node, n) => ({ id: `e${n + 1}`, from: path[n], to: node })),
    slos: PERCENTILES.map((percentile) => ({ id: `p${percentile}`, kind: 'latency', percentile, max_us: ANY_US })),
  });
}

/** Resolves when the model is calibrated on every server that runs an NF. */
async function calibrated(stage: Stage): Promise<void> {
  for (let window = 0; window < MOST_CALIBRATION_WINDOWS; window++) {
    const { calibration, graph } = await stage.api.call('previewPlan', { body: {} });
    const missing = nfInstances(graph).filter(({ server }) => server !== null && !(server in calibration.entries));
    if (missing.length === 0) return;
    await stage.wait(WINDOW_S, 'the model is calibrated by what the chain measures');
  }
  throw new Error('the model was not calibrated: the chain does not run steadily, or packets are lost');
}

interface Memory {
  chain: string;
  /** In us, by objective, before the measurement. */
  predicted: ReadonlyMap<string, number>;
  /** In us, by objective and window. */
  readonly measured: Map<string, number[]>;
  /** Of the cores of the machine, during the measurement. */
  busyShare: number;
}

async function measure(stage: Stage, memory: Memory, { windows }: Parameters): Promise<void> {
  memory.predicted = new Map(
    (await latencies(stage, memory.chain)).map(({ slo_id, predicted }) => [slo_id, predicted]),
  );
  const busyShare = observeCores();
  for (let window = 1; window <= windows; window++) {
    await stage.wait(WINDOW_S, `window ${window} of ${windows}`);
    for (const { slo_id, measured } of await latencies(stage, memory.chain))
      memory.measured.set(slo_id, [...(memory.measured.get(slo_id) ?? []), measured]);
  }
  memory.busyShare = busyShare();
}

async function latencies({ api, until }: Stage, chainId: string) {
  return until('predicted and measured latencies', 10, async () => {
    const { items } = await api.call('listSlos', { query: { chain_id: chainId } });
    const known = items.flatMap(({ slo_id, predicted, measured }) =>
      predicted !== null && measured !== null ? [{ slo_id, predicted, measured }] : [],
    );
    return known.length > 0 && known.length === items.length ? known : null;
  });
}

async function compare(stage: Stage, memory: Memory, parameters: Parameters): Promise<void> {
  const { api } = stage;
  const { chain: chainId, busyShare } = memory;
  for (const percentile of PERCENTILES) {
    const slo = `p${percentile}`;
    const predicted = memory.predicted.get(slo)!;
    const windows = memory.measured.get(slo)!;
    const measured = median(windows);
    const range = [Math.min(...windows), Math.max(...windows)].map((us) => us.toFixed(1)).join(' to ');
    const note = `median of ${windows.length} windows of ${WINDOW_S} s: ${range}`;
    stage.figure({ name: `${slo} predicted`, unit: 'us', published: null, here: predicted, modelled: true });
    stage.figure({ name: `${slo} measured`, unit: 'us', published: null, here: measured, note });
    stage.figure({
      name: `${slo} measured : predicted`,
      unit: '',
      published: null,
      here: ratioOf(measured, predicted),
      ...judgementOf(parameters[`tolerance_p${percentile}`], busyShare),
    });
  }
  const { started_ms } = stage;
  stage.plot({
    title: 'Latency of the chain',
    source: '',
    x: { label: 'time since the start', unit: 's' },
    y: { label: 'latency', unit: 'us' },
    series: await Promise.all(
      PERCENTILES.map(async (percentile) => ({
        name: `p${percentile}`,
        published: false,
        modelled: false,
        points: await historyOf(api, sampleKey('chain', chainId, `latency_p${percentile}_us`), started_ms),
      })),
    ),
  });
}
