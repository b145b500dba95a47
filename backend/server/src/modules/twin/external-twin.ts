import type { TwinHost } from './twin-host.js';

const ANSWER_LIMIT_MS = 30_000;
const LOOK_AGAIN_MS = 100;

/** A twin that something else starts, restarts and stops, such as a container beside that of the server. */
export class ExternalTwin implements TwinHost {
  readonly isOurs = false;

  /** @param socketPath where twind serves */
  constructor(
    private readonly socketPath: string,
    private readonly limitMs = ANSWER_LIMIT_MS,
  ) {}

  async ensure(answers: () => Promise<boolean>, signal: AbortSignal): Promise<false> {
    const deadline = performance.now() + this.limitMs;
    while (!(await answers())) {
      signal.throwIfAborted();
      if (performance.now() > deadline)
        throw new Error(
          `twind, which the server does not start itself (ORRERY_TWIN=external), does not answer at ${this.socketPath}`,
        );
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
    }
    return false;
  }

  async stop(): Promise<void> {}
}
