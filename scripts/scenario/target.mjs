import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { freePort } from '../bench/measure.mjs';
import { holderOf } from '../claim.mjs';
import { ApiError } from '../client.mjs';
import { bringUpRack } from '../demo-chains.mjs';
import { onInterrupt } from '../interrupt.mjs';
import { setUp } from '../setup/main.mjs';
import { STATE_DIR } from '../setup/paths.mjs';
import { SetupError, step } from '../setup/progress.mjs';
import { Stack } from '../stack.mjs';

/** A client of a server that is already running. */
class Running {
  #token = null;

  constructor(url) {
    this.url = url;
  }

  async signIn(secret) {
    this.#token = (await this.api('POST', '/sessions', { secret, name: 'scenario' })).token;
  }

  async api(method, path, body) {
    const answer = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(this.#token ? { authorization: `Bearer ${this.#token}` } : {}),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    const data = text ? JSON.parse(text) : null;
    if (!answer.ok) throw new ApiError(method, path, answer.status, data);
    return data;
  }

  async prepare() {}

  stop() {}
}

function isUp(url) {
  return fetch(`${url}/healthz`, { signal: AbortSignal.timeout(2000) }).then(
    ({ ok }) => ok,
    () => false,
  );
}

function secretOf() {
  const file = resolve(STATE_DIR, 'admin-secret');
  const secret = process.env.ORRERY_SECRET ?? (existsSync(file) ? readFileSync(file, 'utf8').trim() : null);
  if (!secret) throw new SetupError('Orrery runs, but its secret is not known here: set ORRERY_SECRET.');
  return secret;
}

/** Address of the demo that runs from this checkout; otherwise the usual one. */
async function localAddress() {
  const told = await holderOf(STATE_DIR);
  return /http:\/\/\S+/.exec(told)?.[0] ?? `http://127.0.0.1:${process.env.ORRERY_PORT ?? 8080}`;
}

/**
 * The server at `url` or, if none is given and none is running, one started by this command, with or without a twin.
 * `prepare` brings up what scenarios need; until then the server can be asked about them.
 */
export async function targetAt(url, { twin }) {
  const address = (url ?? (await localAddress())).replace(/\/$/, '');
  if (await isUp(address)) {
    const running = new Running(address);
    await running.signIn(secretOf());
    return running;
  }
  if (url) throw new SetupError(`Nothing answers at ${address}.`);
  if (twin && process.getuid?.() !== 0)
    throw new SetupError(
      'The twin creates network namespaces, which needs root: run this as root, or name a server that runs with --url.',
    );
  const stack = new Stack({ port: await freePort(), purpose: 'scenario', twin });
  await stack.claim();
  onInterrupt(() => stack.stop());
  await setUp(twin ? 'twin' : 'planning');
  await step('Server and store', () => stack.start());
  return {
    api: (...request) => stack.api(...request),
    prepare: () => twin && step('Twin: switch, servers, hosts, agents', () => bringUpRack(stack)),
    stop: () => stack.stop(),
  };
}
