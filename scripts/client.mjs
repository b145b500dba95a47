import { SetupError } from './setup/progress.mjs';

/** An answer other than 2xx; `problem` is the RFC 9457 body. */
export class ApiError extends Error {
  constructor(method, path, status, problem) {
    const fields = (problem?.errors ?? []).map((e) => `${e.pointer}: ${e.detail}`).join('; ');
    super(`${method} ${path}: ${status} ${problem?.detail ?? problem?.title ?? ''} ${fields}`.trim());
    this.status = status;
    this.problem = problem;
  }
}

/** Long enough for a machine that tests keep busy; who judges how long something takes says so. */
const PATIENCE_MS = 120_000;

/** Waits until `probe` gives something other than null or undefined; a refused connection counts as "not yet". */
export async function until(what, probe, { timeoutMs = PATIENCE_MS, everyMs = 100 } = {}) {
  const deadline = Date.now() + timeoutMs;
  let last = '';
  for (;;) {
    try {
      const value = await probe();
      if (value !== null && value !== undefined) return value;
    } catch (error) {
      if (error instanceof SetupError) throw error;
      last = error.message;
    }
    if (Date.now() > deadline)
      throw new SetupError(`${what} did not happen within ${timeoutMs / 1000} s. ${last}`.trim());
    await new Promise((done) => setTimeout(done, everyMs));
  }
}

/** A client of the API of a server that runs. */
export class Client {
  #token;

  /** @param {string} url of the console */
  constructor(url) {
    this.url = url;
  }

  async signIn(secret) {
    this.#token = (await this.api('POST', '/sessions', { secret })).token;
  }

  /** Calls the API; returns the parsed body, throws ApiError unless the status is 2xx. */
  async api(method, path, body, headers = {}, signal = null) {
    const { data } = await this.request(method, path, body, headers, signal);
    return data;
  }

  async request(method, path, body, headers = {}, signal = null) {
    const answer = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(this.#token ? { authorization: `Bearer ${this.#token}` } : {}),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    });
    const text = await answer.text();
    const data = text ? JSON.parse(text) : null;
    if (!answer.ok) throw new ApiError(method, path, answer.status, data);
    return { data, headers: answer.headers };
  }

  /** Waits for an operation to end; throws with its error unless it is in force. */
  async operation(id, timeoutMs = PATIENCE_MS) {
    const done = await until(
      `end of operation ${id}`,
      async () => {
        const operation = await this.api('GET', `/operations/${id}`);
        return ['PROCESSING', 'ROLLING_BACK', 'FAILED_TEMP'].includes(operation.state) ? null : operation;
      },
      { timeoutMs, everyMs: 20 },
    );
    if (done.state !== 'COMPLETED' && done.state !== 'PARTIALLY_COMPLETED')
      throw new SetupError(`Operation ${id} ended ${done.state}: ${done.error?.detail ?? ''}`);
    return done;
  }

  /** Waits until a packet was seen to cross what the operation deployed; returns the operation. */
  firstPacket(id, timeoutMs = PATIENCE_MS) {
    return until(
      `first packet of operation ${id}`,
      async () => {
        const operation = await this.api('GET', `/operations/${id}`);
        return operation.first_packet_ms === null ? null : operation;
      },
      { timeoutMs, everyMs: 20 },
    );
  }
}
