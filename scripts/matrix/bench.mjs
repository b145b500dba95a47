import { freePort } from '../bench/measure.mjs';
import { until } from '../client.mjs';
import { boardsUp, bringUpRack, declareApplications, deploy, loadChains } from '../demo-chains.mjs';
import { step } from '../setup/progress.mjs';
import { Stack } from '../stack.mjs';
import { application } from './parts.mjs';

const MOVED_MS = 60_000;

/** A chain of one stateful firewall from a client to the web server. */
const oneNf = (name, title, client) => ({
  name,
  title,
  traffic_class: { from: [client], match: [{ attribute: 'ip.dst', value: '10.0.2.1/32' }], rate_bps: 1_000_000 },
  nodes: [
    { id: 'in', kind: 'ingress' },
    { id: 'fw', kind: 'nf', nf: 'stateful-firewall' },
    { id: 'out', kind: 'egress' },
  ],
  edges: [
    { id: 'e1', from: 'in', to: 'fw' },
    { id: 'e2', from: 'fw', to: 'out' },
  ],
});
const probes = (id, node, rate_per_s) => ({ id, kind: 'probe', node, config: { to: 'web-1', rate_per_s } });

/** Chains that only some parts need: what each is, its traffic, and how its NF comes to where that part carries it. */
const ON_REQUEST = {
  boards: {
    chain: oneNf('matrix-board', 'An NF on a board', 'client-3'),
    probes: probes('matrix-board-probes', 'client-3', 40),
    isThere: ({ slot }) => slot?.board === 'board-1',
    async move({ stack }, id) {
      const nf = { chain_id: id, node_id: 'fw' };
      const { id: run } = await stack.api('POST', '/reconfigurations', {
        nf,
        to: 'board',
        slot: { board: 'board-1', slot: 0 },
      });
      const ended = async () =>
        (await stack.api('GET', `/reconfigurations/${run}`)).state === 'running' ? null : true;
      await until('the move to the board', ended, { timeoutMs: MOVED_MS });
    },
  },
  containers: {
    chain: oneNf('matrix-container', 'An NF in a container', 'client-4'),
    probes: probes('matrix-container-probes', 'client-4', 30),
    isThere: ({ driver }) => driver === 'container',
    async move({ stack }, id) {
      const implementations = [{ chain_id: id, node_id: 'fw', on: 'container' }];
      const plan = await stack.api('POST', '/plans', { implementations });
      await stack.operation((await stack.api('POST', '/deployments', { plan_id: plan.id })).id);
    },
  },
};
const NOTES = oneNf('matrix-notes', 'Written 0 times', 'web-1');

/** The twin on which the cases run: the demo's chains and traffic, and what `needs` names (`boards`, `containers`). */
export class Bench {
  stack = new Stack({ purpose: 'matrix', twin: true });
  /** The chain whose draft is written all the time. */
  notes = null;
  /** By a chain's id, text in the command line of a process on its client. */
  #clients = {};
  /** By a chain's id, where its NF has to be. */
  #places = {};

  constructor(needs) {
    this.needs = needs;
  }

  /** Precondition: the checkout is set up. */
  async start() {
    this.stack.port = await freePort();
    await step('Server and twin', async () => {
      await this.stack.start();
      await bringUpRack(this.stack);
    });
    await step('Chains and traffic', async () => {
      const [web, stream] = await loadChains(this.stack);
      await deploy(this.stack, [web, stream]);
      await declareApplications(this.stack);
      this.#clients = { [web.id]: '"rate_per_s": 50.0', [stream.id]: '"to": "web-2"' };
      this.notes = (await this.stack.api('POST', '/chains', NOTES)).id;
      for (const need of this.needs) await this.#add(ON_REQUEST[need]);
    });
  }

  async #add(place) {
    if (place === ON_REQUEST.boards) await boardsUp(this.stack);
    const chain = await this.stack.api('POST', '/chains', place.chain);
    await deploy(this.stack, [chain]);
    await this.stack.api('POST', '/applications', place.probes);
    this.#clients[chain.id] = `"rate_per_s": ${place.probes.config.rate_per_s}.0`;
    this.#places[chain.id] = place;
    await place.move(this, chain.id);
  }

  /** The ids of the chains with traffic. */
  get chains() {
    return Object.keys(this.#clients);
  }

  /** A process on the client of each chain, by the chain's id; null while it does not run. */
  clients() {
    return Object.fromEntries(Object.entries(this.#clients).map(([chain, text]) => [chain, application(this, text)]));
  }

  /** Moves NFs that fell back to where the cases want them. */
  async restore() {
    for (const [chain, place] of Object.entries(this.#places)) {
      const { items } = await this.stack.api('GET', `/nf-instances?chain_id=${chain}`);
      if (!items.every(place.isThere)) await place.move(this, chain);
    }
  }

  /** Takes everything down; a new one starts from nothing. */
  stop() {
    return this.stack.stop();
  }
}
