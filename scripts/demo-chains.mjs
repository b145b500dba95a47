import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { until } from './client.mjs';
import { ROOT } from './setup/paths.mjs';

const json = (path) => JSON.parse(readFileSync(resolve(ROOT, path), 'utf8'));
const TEMPLATES = ['e2-figure-3-1', 'linear'];

/** Keeps every branch of the demo busy: page requests and probes, attacks, and a second class through the NAT. */
const APPLICATIONS = [
  { id: 'web-1-http', kind: 'http-server', node: 'web-1', config: {} },
  { id: 'web-2-http', kind: 'http-server', node: 'web-2', config: {} },
  { id: 'web-1-probes', kind: 'probe-server', node: 'web-1', config: {} },
  { id: 'web-2-iperf3', kind: 'iperf3-server', node: 'web-2', config: {} },
  { id: 'pages', kind: 'http-client', node: 'client-1', config: { to: 'web-1', rate_per_s: 20 } },
  {
    id: 'attacks',
    kind: 'http-client',
    node: 'client-1',
    config: {
      to: 'web-1',
      rate_per_s: 2,
      path: '/item?id=1%20union%20select%20password',
      body: 'id=1 union select password from users',
    },
  },
  { id: 'latency', kind: 'probe', node: 'client-1', config: { to: 'web-1', rate_per_s: 50 } },
  { id: 'more-pages', kind: 'http-client', node: 'client-2', config: { to: 'web-2', rate_per_s: 10 } },
  { id: 'stream', kind: 'iperf3-client', node: 'client-2', config: { to: 'web-2', rate_bps: 2_000_000 } },
];

/**
 * Sets the rack topology on the server unless it already has an infrastructure, and waits until every agent is
 * connected.
 */
export async function bringUpRack(stack) {
  const { data: current, headers } = await stack.request('GET', '/infrastructure');
  if (current.servers.length === 0) {
    await stack.api('PUT', '/infrastructure', json('twin/topologies/rack.json'), { 'if-match': headers.get('etag') });
  }
  if (!stack.twin) return;
  await until('connection of every agent', async () => {
    const { items } = await stack.api('GET', '/nodes');
    return items.length > 0 && items.every((node) => node.state === 'connected') ? items : null;
  });
}

/** Waits until every board of the twin is up. */
export async function boardsUp(stack) {
  const { boards } = await stack.api('GET', '/infrastructure');
  await until('start of every board', async () => {
    const { state } = await stack.api('GET', '/twin');
    return boards.every(({ id }) => state?.nodes.find((node) => node.id === id)?.state === 'up') ? true : null;
  });
}

/** Stores the demo chains that do not exist yet; returns all of them. */
export async function loadChains(stack) {
  const { items } = await stack.api('GET', '/chains');
  const chains = [];
  for (const template of TEMPLATES) {
    const definition = json(`frontend/src/editor-model/templates/${template}.json`);
    const known = items.find((chain) => chain.draft.name === definition.name);
    chains.push(known ?? (await stack.api('POST', '/chains', definition)));
  }
  return chains;
}

/** Deploys the chains that are not running yet, one operation after the other. */
export async function deploy(stack, chains) {
  const operations = [];
  for (const { id } of chains) {
    const { deployment_state: state } = await stack.api('GET', `/chains/${id}`);
    if (['deploying', 'running', 'degraded'].includes(state)) continue;
    const operation = await stack.api('POST', '/deployments', { chain_id: id });
    operations.push(await stack.operation(operation.id));
  }
  return operations;
}

/** Declares the demo applications that do not exist yet; what an operator changed or stopped stays so. */
export async function declareApplications(stack) {
  const { items } = await stack.api('GET', '/applications');
  for (const definition of APPLICATIONS)
    if (!items.some(({ id }) => id === definition.id)) await stack.api('POST', '/applications', definition);
}

/** Waits until every instance of the chains has counted packets; returns packets by instance. */
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
 * Waits until every SLO of the running chains has a measured value, and then for a window in which all are met; returns
 * their final state, met or not.
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
