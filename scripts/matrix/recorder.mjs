import { setTimeout as sleep } from 'node:timers/promises';
import { packetsAt } from './witness.mjs';

const EVERY_MS = 200;
const ANSWER_MS = 1000;

/** Counts that go on where another process, on another interface, takes over. */
class Counts {
  #last = new Map();

  of(chain, pid, now) {
    const before = this.#last.get(chain);
    const base = before?.pid === pid ? before.base : (before?.sum ?? { offered: 0, delivered: 0 });
    const sum = { offered: base.offered + now.offered, delivered: base.delivered + now.delivered };
    this.#last.set(chain, { pid, base, sum });
    return sum;
  }
}

/**
 * Records what packets and the API say, side by side, until `stop`. `clients` gives a pid on the client of each chain, by
 * the chain's id; one that is missing at the start throws, as its chain would not be judged.
 */
export class Recorder {
  rows = [];
  #stopped = false;
  #running;

  constructor(stack, clients) {
    const pids = clients();
    for (const [chain, pid] of Object.entries(pids)) if (pid === null) throw new Error(`no client of ${chain} runs`);
    this.#running = Promise.all([this.#countPackets(pids, clients), this.#listen(stack)]);
  }

  #said = null;

  async #countPackets(found, clients) {
    let pids = found;
    const chains = Object.keys(pids);
    const counts = new Counts();
    while (!this.#stopped) {
      const traffic = {};
      for (const chain of chains) {
        try {
          traffic[chain] = counts.of(chain, pids[chain], packetsAt(pids[chain]));
        } catch {
          // The application ended with the twin; another one comes with the next.
          pids = clients();
        }
      }
      this.rows.push({ t_ms: performance.now(), traffic, said: this.#said });
      await sleep(EVERY_MS);
    }
  }

  /** Asks on its own, so that a server that does not answer does not delay the counts. */
  async #listen(stack) {
    while (!this.#stopped) {
      this.#said = await said(stack);
      await sleep(EVERY_MS);
    }
  }

  async stop() {
    this.#stopped = true;
    await this.#running;
    return this.rows;
  }
}

/** What the API says about everything that carries packets, and when it was asked; null if it does not answer within a second. */
export async function said(stack) {
  const asked_ms = performance.now();
  try {
    const get = async (path) => await stack.api('GET', path, undefined, {}, AbortSignal.timeout(ANSWER_MS));
    const [health, deployments, nodes, switches, accelerators, instances] = await Promise.all(
      ['/health', '/deployments', '/nodes', '/switches', '/accelerators', '/nf-instances'].map(get),
    );
    const running = deployments.items.filter(({ state }) => state === 'running').map(({ chain_id }) => chain_id);
    const wrong = [
      ...health.parts.flatMap(({ name, status, detail }) => (status === 'ok' ? [] : { name, is: detail })),
      ...notIn('running', deployments, ({ chain_id }) => chain_id),
      ...notIn('connected', nodes),
      ...nodes.items.flatMap(({ id, kind, engine }) =>
        kind === 'server' && engine !== 'running' ? { name: id, is: `engine ${engine}` } : [],
      ),
      ...switches.items.flatMap(({ id, observed }) =>
        observed?.state === 'converged' ? [] : { name: id, is: observed?.state ?? 'not seen' },
      ),
      ...notIn('operating', accelerators),
      ...notIn('running', instances, ({ chain_id }) => chain_id),
    ];
    return { asked_ms, wrong, running };
  } catch {
    return null;
  }
}

/** What is in another state, by `nameOf`. */
function notIn(wanted, { items }, nameOf = ({ id }) => id) {
  return items.flatMap((item) => (item.state === wanted ? [] : { name: nameOf(item), is: item.state }));
}

/** Writes a chain's draft again and again; `lost()` tells which acknowledged writes are gone. */
export class Writer {
  #acknowledged = 0;
  #stopped = false;
  #running;

  constructor(stack, id) {
    this.stack = stack;
    this.id = id;
    this.#running = this.#write();
  }

  async #write() {
    for (let n = 1; !this.#stopped; n++) {
      try {
        const { data, headers } = await this.stack.request('GET', `/chains/${this.id}`);
        const draft = { ...data.draft, title: `Written ${n} times` };
        await this.stack.api(
          'PUT',
          `/chains/${this.id}`,
          draft,
          { 'if-match': headers.get('etag') },
          AbortSignal.timeout(ANSWER_MS),
        );
        this.#acknowledged = n;
      } catch {
        // Not acknowledged.
      }
      await sleep(EVERY_MS);
    }
  }

  /** Stops; what broke the promise that an acknowledged write is kept. */
  async lost() {
    this.#stopped = true;
    await this.#running;
    const { draft } = await this.stack.api('GET', `/chains/${this.id}`);
    const kept = Number(/\d+/.exec(draft.title)?.[0] ?? 0);
    return kept >= this.#acknowledged ? [] : [`write ${this.#acknowledged} was acknowledged, and ${kept} is stored`];
  }
}
