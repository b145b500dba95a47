import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../client.mjs';
import { wrongEnd, wrongPlace } from './judge.mjs';

const EXTRA = {
  name: 'matrix-extra',
  title: 'Deployed and removed by the matrix',
  traffic_class: { from: ['client-4'], match: [{ attribute: 'ip.dst', value: '10.0.2.2/32' }], rate_bps: 1_000_000 },
  nodes: [
    { id: 'in', kind: 'ingress' },
    { id: 'fw', kind: 'nf', nf: 'stateful-firewall' },
    { id: 'mon', kind: 'nf', nf: 'monitor' },
    { id: 'out', kind: 'egress' },
  ],
  edges: [
    { id: 'e1', from: 'in', to: 'fw' },
    { id: 'e2', from: 'fw', to: 'mon' },
    { id: 'e3', from: 'mon', to: 'out' },
  ],
};
const END_MS = 60_000;
/** A deployment or its end takes about 0.24 s (docs/benchmarks.md). */
const DEPLOY_MS = 350;
const RECONFIGURE_MS = 1500;

/**
 * What the product is doing when the fault strikes, and how long that takes at most: the fault strikes within. `prepare` makes the change possible, `change` requests it and gives
 * the function that waits for its end and returns what broke its promise, `undo` restores what was before.
 */
export const PHASES = [
  { name: 'quiet', lasts_ms: 0, prepare: async () => ({}), change: async () => async () => [], undo: async () => {} },
  {
    name: 'deploy',
    lasts_ms: DEPLOY_MS,
    prepare: storedChain,
    change: async (bench, { id }) =>
      ended(bench, await operation(bench, 'POST', '/deployments', { chain_id: id }), { id, wanted: true }),
    undo: removed,
  },
  {
    name: 'undeploy',
    lasts_ms: DEPLOY_MS,
    prepare: deployedChain,
    change: async (bench, { id }) =>
      ended(bench, await operation(bench, 'DELETE', `/deployments/${id}`), { id, wanted: false }),
    undo: removed,
  },
  {
    name: 'reconfigure',
    lasts_ms: RECONFIGURE_MS,
    needs: 'boards',
    prepare: deployedChain,
    change: async (bench, { id }) => {
      const nf = { chain_id: id, node_id: 'fw' };
      const run = await persist(() =>
        bench.stack.api('POST', '/reconfigurations', { nf, to: 'board', slot: { board: 'board-2', slot: 0 } }),
      );
      return () => moved(bench, run, nf);
    },
    undo: removed,
  },
];

async function storedChain({ stack }) {
  return stack.api('POST', '/chains', EXTRA);
}

async function deployedChain(bench) {
  const chain = await storedChain(bench);
  await bench.stack.operation((await bench.stack.api('POST', '/deployments', { chain_id: chain.id })).id);
  return chain;
}

function operation(bench, method, path, body) {
  return bench.stack.api(method, path, body);
}

/** Waits for the operation's end: what is in force has its whole effect, everything else none. */
function ended({ stack }, { id: operationId }, { id, wanted }) {
  return async () => {
    const done = await until(
      'end of the operation',
      async () => {
        const { state } = await stack.api('GET', `/operations/${operationId}`);
        return ['PROCESSING', 'ROLLING_BACK', 'FAILED_TEMP'].includes(state) ? null : state;
      },
      { timeoutMs: END_MS },
    );
    const { items } = await stack.api('GET', '/deployments');
    const runs = items.some(({ chain_id }) => chain_id === id);
    return wrongEnd(done, wanted, runs);
  };
}

/** Waits for the end of the run, and of what moved the NF after it: the NF is where the last one says. */
async function moved({ stack }, { id }, nf) {
  const isOfNf = (one) => one.chain_id === nf.chain_id && one.node_id === nf.node_id;
  const last = await until(
    'end of the reconfiguration',
    async () => {
      const { items } = await stack.api('GET', '/reconfigurations?limit=1000');
      const runs = items.filter((run) => run.moves.some(isOfNf));
      if (!runs.some((run) => run.id === id) || runs.some(({ state }) => state === 'running')) return null;
      return runs.reduce((a, b) => (b.started_ms > a.started_ms ? b : a));
    },
    { timeoutMs: END_MS },
  );
  const { items } = await stack.api('GET', `/nf-instances?chain_id=${nf.chain_id}`);
  const { slot, driver } = items.find(isOfNf);
  return wrongPlace(
    last,
    nf,
    slot ? { on: 'board', slot } : { on: driver === 'container' ? driver : 'software', slot },
  );
}

async function removed({ stack }, { id }) {
  if (!id) return;
  const { items } = await stack.api('GET', '/deployments');
  if (items.some(({ chain_id }) => chain_id === id))
    await stack.operation((await stack.api('DELETE', `/deployments/${id}`)).id);
  await stack.api('DELETE', `/chains/${id}`);
}

/** Repeats a request while the server is away. */
async function persist(request) {
  for (;;) {
    try {
      return await request();
    } catch (error) {
      if (error.status) throw error;
      await sleep(100);
    }
  }
}
