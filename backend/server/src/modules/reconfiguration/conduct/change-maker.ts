import { Inject, Injectable } from '@nestjs/common';
import type { Operation } from '@orrery/contract';
import { Mutex } from '../../../platform/mutex.js';
import { ProblemError } from '../../../platform/problem.js';
import { DEPLOYER, type Deployer, type PlanChange } from '../../../ports/deployer.js';
import { isOver, OPERATIONS, type OperationLog } from '../../../ports/operation-log.js';
import { Records } from '../records/records.js';
import { type ChangeName, operationIdOf } from './changes.js';

/** How long to wait for agents and fabric after a restart. */
export const RETURN_MS = 5000;

/** Progress of something that takes several runs of the loop. */
export type Progress = 'done' | 'waiting' | { readonly failed: string };

export interface ChangeRequest {
  readonly runId: string;
  readonly name: ChangeName;
  readonly by: string;
  readonly request: PlanChange;
}

/**
 * Carries out changes as operations. Plans build on each other, so concurrent reconfigurations take turns with their
 * operations: a failed one is rolled back before another plan is made on top of it.
 */
@Injectable()
export class ChangeMaker {
  private readonly turns = new Mutex();
  private readonly sinceMs = Date.now();
  /** Monotonic clock. */
  private readonly returnsByMs = performance.now() + RETURN_MS;

  constructor(
    @Inject(DEPLOYER) private readonly deployer: Deployer,
    @Inject(OPERATIONS) private readonly operations: OperationLog,
    @Inject(Records) private readonly records: Records,
  ) {}

  accepted(runId: string, name: ChangeName): Promise<Operation | null> {
    return this.operations.get(operationIdOf(runId, name));
  }

  /** Requests the change unless it has been requested already. Null: it is another reconfiguration's turn. */
  async ask(change: ChangeRequest): Promise<Operation | { readonly failed: string } | null> {
    const { runId, name, by, request } = change;
    const accepted = await this.accepted(runId, name);
    if (accepted) return this.newest(accepted);
    return this.turns.run(async () => {
      if (this.isTurnOfAnother(runId)) return null;
      const operation = { id: operationIdOf(runId, name), kind: 'reconfigure', by } as const;
      return this.deployer.change(request, operation).catch(asFailure);
    });
  }

  /** Has a change that is not over taken back; `waiting` until that is done. */
  async takeBack(runId: string, name: ChangeName, why: string, by: string): Promise<'done' | 'waiting'> {
    const operation = await this.accepted(runId, name);
    if (!operation || isOver(await this.newest(operation))) return 'done';
    await this.deployer.takeBack(operation.id, why, by);
    return isOver(await this.newest(operation)) ? 'done' : 'waiting';
  }

  progressOf(operation: Operation): Progress {
    if (operation.state === 'COMPLETED' || operation.state === 'PARTIALLY_COMPLETED') return 'done';
    if (isOver(operation) || this.isStuck(operation)) return { failed: whyNot(operation) };
    return 'waiting';
  }

  private async newest(operation: Operation): Promise<Operation> {
    return this.deployer.operation(operation.id) ?? operation;
  }

  private isTurnOfAnother(runId: string): boolean {
    const running = this.records.all().filter(({ id, state }) => state === 'running' && id !== runId);
    return this.deployer.underWay().some((operation) => running.some(({ id }) => operation.id.startsWith(`${id}.`)));
  }

  /** After a restart, what an operation was waiting for may have returned. */
  private isStuck({ state, updated_ms }: Operation): boolean {
    return state === 'FAILED_TEMP' && (updated_ms >= this.sinceMs || performance.now() >= this.returnsByMs);
  }
}

/** The detail of a refusal; rethrows any other error, which is worth a retry. */
export function asFailure(error: unknown): { readonly failed: string } {
  if (error instanceof ProblemError && error.status < 500) return { failed: error.message };
  throw error;
}

function whyNot({ error }: Operation): string {
  return error?.detail ?? 'the operation was never created';
}
