import { Inject, Injectable } from '@nestjs/common';
import type { Operation } from '@orrery/contract';
import { conflict, notFound } from '../../platform/problem.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { isOver, OPERATIONS, type OperationLog } from '../../ports/operation-log.js';
import { type DesiredChange, DesiredStore } from './desired-store.js';
import { ending } from './endings.js';
import { resumed } from './operation-steps.js';
import { retreating } from './retreat.js';

/** What can be done instead with an operation in a state. */
const INSTEAD: Partial<Readonly<Record<Operation['state'], string>>> = {
  PROCESSING: ': cancel it instead',
  FAILED_TEMP: ': roll it back or retry it instead',
};

/** Operations are cancelled, retried and rolled back by hand (ETSI SOL005 6.4.7 to 6.4.9). */
@Injectable()
export class OperationControl {
  constructor(
    @Inject(DesiredStore) private readonly state: DesiredStore,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(OPERATIONS) private readonly operations: OperationLog,
  ) {}

  /** Throws 404, and 409 unless the operation is PROCESSING. */
  cancel(id: string, by: string): Promise<Operation> {
    return this.change(id, 'PROCESSING', 'cancelled', (operation) =>
      this.takenBack({ ...operation, cancelled_by: by }, `Cancelled by ${by}`, by),
    );
  }

  /** Throws 404, and 409 unless the operation is FAILED_TEMP. */
  rollBack(id: string, by: string): Promise<Operation> {
    return this.change(id, 'FAILED_TEMP', 'rolled back', (operation) =>
      this.takenBack(
        { ...operation, rolled_back_by: by },
        `${operation.error?.detail ?? 'Not finished'} (rolled back by ${by})`,
        by,
      ),
    );
  }

  /** Throws 404, and 409 unless the operation is FAILED_TEMP. */
  retry(id: string, by: string): Promise<Operation> {
    return this.change(id, 'FAILED_TEMP', 'retried', (operation) => ({
      operations: [resumed(operation, Date.now())],
      events: [
        {
          type: 'operation.retried',
          subject: id,
          message: `Retried by ${by}`,
          actor: by,
          data: { chain_id: operation.subject },
        },
      ],
    }));
  }

  /** Takes an unfinished operation back, whatever its state; one that is over stays as it is. */
  takeBack(id: string, why: string, by: string): Promise<void> {
    return this.state.commit(() => {
      const operation = this.operations.find(id);
      if (!operation || isOver(operation) || operation.state === 'ROLLING_BACK') return null;
      return this.takenBack(operation, why, by);
    });
  }

  private takenBack(operation: Operation, why: string, by: string): DesiredChange {
    const nowMs = Date.now();
    if (this.state.desired.operation_id !== operation.id)
      return ending(this.state, operation, { state: 'ROLLED_BACK', why, by }, nowMs);
    const exists = (place: string) => this.fleet.hasPlace(place);
    return retreating(this.state, exists, operation, { ends: 'ROLLED_BACK', why, waiting_for: [] }, nowMs, by);
  }

  private async change(
    id: string,
    wanted: Operation['state'],
    what: string,
    make: (operation: Operation) => DesiredChange,
  ): Promise<Operation> {
    await this.state.commit(() => {
      const operation = this.operations.find(id);
      if (!operation) throw notFound('operation', id);
      if (operation.state !== wanted)
        throw conflict(
          `Only an operation in ${wanted} can be ${what}; this one is ${operation.state}${INSTEAD[operation.state] ?? ''}.`,
        );
      return make(operation);
    });
    return (await this.operations.get(id))!;
  }
}
