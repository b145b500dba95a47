import { join } from 'node:path';
import { Inject, Injectable } from '@nestjs/common';
import { API_PREFIX, type TwinSpec } from '@orrery/contract';
import { CONFIG, type Config } from '../../platform/config.js';
import { Mutex } from '../../platform/mutex.js';
import { ProblemError } from '../../platform/problem.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { isEmulated } from './twin-demand.js';
import { TwindClient } from './twind-client.js';

/** Sends twind the infrastructure to build, with a join token for each agent that it starts. */
@Injectable()
export class SpecSender {
  private readonly sending = new Mutex();
  private answeredRevision = 0;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(TwindClient) private readonly client: TwindClient,
  ) {}

  /** Whether twind has accepted or refused the latest infrastructure. */
  get isCurrent(): boolean {
    return this.answeredRevision === this.infrastructure.current.revision;
  }

  /** Sends the latest infrastructure; serialized, so that it arrives last. Rejects if twind refuses or does not answer. */
  send(signal: AbortSignal): Promise<void> {
    return this.sending.run(() => this.put(signal));
  }

  private async put(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { revision, infrastructure } = this.infrastructure.current;
    const { servers, switches } = infrastructure;
    const emulated = [...servers, ...switches].filter(({ origin }) => origin === 'twin');
    const tokens = await Promise.all(emulated.map(({ id }) => this.fleet.issueJoinToken(id, 'twin')));
    const spec: TwinSpec = {
      generation: revision,
      infrastructure: isEmulated(infrastructure) ? infrastructure : null,
      agents: {
        server_url: `ws+unix:${join(this.config.runDir, 'agents.sock')}:${API_PREFIX}/agent`,
        join_tokens: Object.fromEntries(tokens.map(({ node, token }) => [node, token])),
      },
    };
    try {
      await this.client.json('PUT', '/spec', spec, signal);
    } catch (error) {
      // What twind cannot build is not sent again.
      if (error instanceof ProblemError && error.status === 422) this.answeredRevision = revision;
      throw error;
    }
    this.answeredRevision = revision;
  }
}
