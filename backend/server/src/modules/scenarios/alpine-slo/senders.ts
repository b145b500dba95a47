import type { Stage } from '../scenario.js';
import { type Parameters, workersOf } from './parameters.js';
import { COSTS, capacityPps, FIRST_PORT, PACKET_BYTES, PIPELINES, type Pipeline, TREES } from './pipelines.js';

/** Offered load, as a multiple of what the cores carry. */
const OVERLOAD = 2;
const HEADERS_BYTES = 42;
const START_S = 30;
const MOST_CLASSES = Math.max(...[...PIPELINES, ...COSTS, ...TREES].map(({ paths }) => paths.length));

/** A receiver and a sender for each class of `pipelines`; senders begin with `overload`. */
export async function prepareClasses(
  stage: Stage,
  pipelines: readonly Pipeline[],
  parameters: Parameters,
): Promise<void> {
  const classes = Math.max(...pipelines.map(({ paths }) => paths.length));
  for (let c = 0; c < classes; c++) {
    const config = { port: FIRST_PORT + c };
    const server = { id: `${senderOf(c)}-server`, kind: 'iperf3-server', node: parameters.to, config };
    await stage.make('application', { ...server, enabled: true });
    await stage.make('application', definitionOf(c, null, parameters));
  }
}

/** The classes of the pipeline send, all as much, and the others do not; `null`: none does. Precondition: no chain is in their way. */
export async function overload(stage: Stage, pipeline: Pipeline | null, parameters: Parameters): Promise<void> {
  const { api, until } = stage;
  const { items } = await api.call('listApplications', { query: { kind: 'iperf3-client', limit: 1000 } });
  const known = new Set(items.map(({ definition: { id } }) => id));
  const classes = pipeline?.paths.length ?? 0;
  for (let c = 0; c < MOST_CLASSES && known.has(senderOf(c)); c++) {
    const rate_pps =
      pipeline && c < classes ? (OVERLOAD * capacityPps(pipeline, workersOf(parameters))) / classes : null;
    const body = definitionOf(c, rate_pps, parameters);
    await api.call('putApplication', { params: { id: body.id }, body });
  }
  if (!pipeline) return;
  const begun = async () => ((await silentClasses(stage, pipeline)).length === 0 ? true : null);
  await until('a stream of every class', START_S, begun);
}

/**
 * Classes of the pipeline whose sender has stopped: iperf3 gives a stream up of which nothing arrives for ten seconds, and
 * none begins through a full queue. What the others got then tells nothing of ratios.
 */
export async function silentClasses({ api }: Stage, { paths }: Pipeline): Promise<number[]> {
  const { items } = await api.call('listApplications', { query: { kind: 'iperf3-client', limit: 1000 } });
  const sending = new Set(
    items.flatMap(({ definition: { id }, status: { state, restarts } }) =>
      state === 'running' && restarts === 0 ? [id] : [],
    ),
  );
  return [...paths.keys()].filter((c) => !sending.has(senderOf(c)));
}

function senderOf(c: number): string {
  return `scenario-alpine-${c + 1}`;
}

function definitionOf(c: number, rate_pps: number | null, { from, to }: Parameters) {
  const packet_bytes = PACKET_BYTES - HEADERS_BYTES;
  const rate_bps = Math.round((rate_pps ?? 1) * packet_bytes * 8);
  const config = { to, port: FIRST_PORT + c, rate_bps, packet_bytes };
  return { id: senderOf(c), kind: 'iperf3-client', node: from, enabled: rate_pps !== null, config };
}
