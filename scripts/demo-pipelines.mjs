import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ROOT } from './setup/paths.mjs';
import { until } from './stack.mjs';

const json = (path) => JSON.parse(readFileSync(resolve(ROOT, path), 'utf8'));
const TEMPLATES = ['e2-figure-3-1', 'linear'];

/** Traffic that keeps every branch of the demo busy: pages and probes, attacks, and a second class through the NAT. */
const TRAFFIC = [
  { kind: 'http', from: 'client-1', to: 'web-1', rate_per_s: 20, path: '/' },
  {
    kind: 'http',
    from: 'client-1',
    to: 'web-1',
    rate_per_s: 2,
    path: '/item?id=1%20union%20select%20password',
    body: 'id=1 union select password from users',
  },
  { kind: 'probe', from: 'client-1', to: 'web-1', rate_per_s: 50, port: 9000 },
  { kind: 'http', from: 'client-2', to: 'web-2', rate_per_s: 10, path: '/' },
  { kind: 'iperf3', from: 'client-2', to: 'web-2', protocol: 'udp', rate_bps: 2_000_000, duration_s: 86_400 },
];

/** Gives the server the rack topology unless it already has one, and waits until every agent is connected. */
export async function bringUpRack(stack, { timeoutMs = 60_000 } = {}) {
  const { data: current, headers } = await stack.request('GET', '/infrastructure');
  if (current.servers.length === 0) {
    await stack.api('PUT', '/infrastructure', json('twin/topologies/rack.json'), { 'if-match': headers.get('etag') });
  }
  if (!stack.twin) return;
  await until(
    'connection of every agent',
    async () => {
      const { items } = await stack.api('GET', '/nodes');
      return items.length > 0 && items.every((node) => node.state === 'connected') ? items : null;
    },
    { timeoutMs },
  );
}

/** Stores the demo pipelines that are not there yet; gives all of them. */
export async function loadPipelines(stack) {
  const { items } = await stack.api('GET', '/pipelines');
  const pipelines = [];
  for (const template of TEMPLATES) {
    const definition = json(`frontend/src/editor-model/templates/${template}.json`);
    const known = items.find((pipeline) => pipeline.draft.name === definition.name);
    pipelines.push(known ?? (await stack.api('POST', '/pipelines', definition)));
  }
  return pipelines;
}

/** Deploys the pipelines that do not run yet, one operation after the other. */
export async function deploy(stack, pipelines) {
  const operations = [];
  for (const { id } of pipelines) {
    const { deployment_state: state } = await stack.api('GET', `/pipelines/${id}`);
    if (['deploying', 'running', 'degraded'].includes(state)) continue;
    const operation = await stack.api('POST', '/deployments', { pipeline_id: id });
    operations.push(await stack.operation(operation.id));
  }
  return operations;
}

/** Starts the demo traffic unless some is already running. */
export async function startTraffic(stack) {
  const { items } = await stack.api('GET', '/twin/traffic');
  if (items.some((job) => job.state === 'running')) return;
  for (const request of TRAFFIC) await stack.api('POST', '/twin/traffic', request);
}

/** Waits until every instance of the pipelines has counted packets; gives packets by instance. */
export async function packetsPerInstance(stack, { timeoutMs = 60_000 } = {}) {
  return until(
    'packets through every NF',
    async () => {
      const { items } = await stack.api('GET', '/nf-instances');
      const samples = await stack.api('GET', '/samples/counters');
      const packets = Object.fromEntries(
        items.map(({ id }) => [id, samples.items.find((s) => s.instance_id === id)?.packets_in ?? 0]),
      );
      return items.length > 0 && Object.values(packets).every((count) => count > 0) ? packets : null;
    },
    { timeoutMs },
  );
}

/**
 * Waits until every SLO of the running pipelines has a measured value, and then for a window in which all are met; gives
 * them as they are at last, met or not.
 */
export async function judgedSlos(stack, { timeoutMs = 60_000, meetMs = 30_000 } = {}) {
  const read = async () => (await stack.api('GET', '/slos')).items;
  const measured = await until(
    'a measured value for every SLO',
    async () => {
      const slos = await read();
      return slos.length > 0 && slos.every((slo) => slo.measured !== null) ? slos : null;
    },
    { timeoutMs },
  );
  const deadline = Date.now() + meetMs;
  let slos = measured;
  while (Date.now() < deadline && slos.some(({ state }) => state !== 'met')) {
    await new Promise((done) => setTimeout(done, 500));
    slos = await read();
  }
  return slos;
}
