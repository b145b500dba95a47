import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { Operation } from '@orrery/contract';
import { LOG, type Log } from '../../platform/log.js';
import { TELEMETRY, type Telemetry } from '../../ports/telemetry.js';
import { DesiredStore } from './desired-store.js';

/** Records when the first packet left a chain after its deployment steered traffic to it. */
@Injectable()
export class FirstPacket implements OnApplicationBootstrap {
  private readonly noting = new Set<string>();

  constructor(
    @Inject(LOG) private readonly log: Log,
    @Inject(DesiredStore) private readonly state: DesiredStore,
    @Inject(TELEMETRY) private readonly telemetry: Telemetry,
  ) {}

  onApplicationBootstrap(): void {
    this.telemetry.onPackets((chainId, tMs) => this.saw(chainId, tMs));
  }

  private saw(chainId: string, tMs: number): void {
    const id = this.state.deployment(chainId)?.operation_id;
    const operation = id === undefined ? undefined : this.state.operation(id);
    if (!operation || !isAwaiting(operation, tMs) || this.noting.has(operation.id)) return;
    this.noting.add(operation.id);
    this.state
      .commit(() => {
        const now = this.state.operation(operation.id);
        if (!now || !isAwaiting(now, tMs)) return null;
        return {
          operations: [{ ...now, first_packet_ms: tMs }],
          events: [
            {
              type: 'operation.first-packet',
              subject: operation.id,
              message: `The first packet crossed after ${Math.round(tMs - now.started_ms)} ms`,
              data: { chain_id: chainId, after_ms: tMs - now.started_ms },
              t_ms: tMs,
            },
          ],
        };
      })
      .catch((error: unknown) => this.log.warn({ error: (error as Error).message }, 'first packet not recorded yet'))
      .finally(() => this.noting.delete(operation.id));
  }
}

function isAwaiting(operation: Operation, tMs: number): boolean {
  if (operation.first_packet_ms !== null || operation.kind !== 'deploy') return false;
  const steer = operation.steps.filter(({ kind }) => kind === 'steer-fabric');
  const ledMs = Math.max(
    operation.started_ms,
    ...steer.map(({ started_ms }) => started_ms ?? Number.POSITIVE_INFINITY),
  );
  return tMs >= ledMs;
}
