import { Inject, Injectable } from '@nestjs/common';
import type { Operation } from '@orrery/contract';
import { newId } from '../../platform/ids.js';
import { median } from '../../platform/median.js';
import { Mutex } from '../../platform/mutex.js';
import { conflict, ProblemError } from '../../platform/problem.js';
import { DEPLOYER, type Deployer } from '../../ports/deployer.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { isOver, OPERATIONS, type OperationLog } from '../../ports/operation-log.js';
import { placementOf } from './placement.js';
import { type Proposal, UpkeepRecords } from './records.js';

/** Operations of which the time is taken as the time of the next. */
const LATEST = 10;
/** The loop of which the events are. */
const SUBJECT = 'upkeep';

/** Applies what is advised: under an operation id that is stored first, so that a server that was killed asks for the same one. */
@Injectable()
export class Applier {
  /** Who applies and the loop, which hears of what was stored, ask one after the other. */
  private readonly turns = new Mutex();

  constructor(
    @Inject(UpkeepRecords) private readonly records: UpkeepRecords,
    @Inject(DEPLOYER) private readonly deployer: Deployer,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(OPERATIONS) private readonly operations: OperationLog,
  ) {}

  /** Throws 409 where it cannot be applied, with the reason, and 412 if it is another advice. */
  async apply(by: string, ifMatch: string | null): Promise<Operation> {
    const operation_id = newId('op');
    const proposal = await this.records.begin(operation_id, by, ifMatch);
    return this.ask(proposal, operation_id, by);
  }

  /** Takes note of how what was applied has ended, and asks for what a killed server did not. Null: nothing is being applied. */
  async settle(): Promise<'under-way' | 'applied' | 'refused' | null> {
    const { applying, proposal } = this.records.advice;
    if (!applying || !proposal) return null;
    const { operation_id, by } = applying;
    const known = this.deployer.operation(operation_id);
    const asked = known ?? (await this.ask(proposal, operation_id, by).catch(refused));
    if (!asked) return 'refused';
    const operation = await this.unlessSetAside(asked);
    if (!isOver(operation)) return 'under-way';
    const { state, error } = operation;
    const isDone = state === 'COMPLETED' || state === 'PARTIALLY_COMPLETED';
    const moved = proposal.disruption.moved.map(({ instance }) => instance);
    if (isDone) {
      await this.records.end(operation_id, null, {
        type: 'upkeep.applied',
        subject: SUBJECT,
        message: `${moved.length} ${moved.length === 1 ? 'instance' : 'instances'} moved: ${proposal.why}`,
        actor: by,
        data: { operation_id, moved },
      });
      return 'applied';
    }
    await this.refuse(operation_id, `Its operation is ${state}${error ? `: ${error.detail}` : ''}.`, by);
    return 'refused';
  }

  /** Time that changes of places took lately, in seconds; null: there were none. */
  async usualSeconds(): Promise<number | null> {
    const moves = (await this.operations.list()).filter(
      ({ state, request }) => state === 'COMPLETED' && (request.move?.length ?? 0) > 0,
    );
    const took = moves.slice(0, LATEST).map(({ started_ms, updated_ms }) => (updated_ms - started_ms) / 1000);
    return took.length === 0 ? null : Math.max(0, median(took));
  }

  /** One that was set aside is taken back: it may wait for long, and nothing else is advised or applied meanwhile. */
  private async unlessSetAside(operation: Operation): Promise<Operation> {
    const { id, set_aside } = operation;
    if (isOver(operation) || set_aside === null) return operation;
    await this.deployer.takeBack(id, `It would wait for ${set_aside.waiting_for.join(', ')}`, SUBJECT);
    return this.deployer.operation(id) ?? operation;
  }

  /** Asks once for each id: whoever comes second gets what became of it. Throws 409 and 422 where it was refused. */
  private ask(proposal: Proposal, id: string, by: string): Promise<Operation> {
    return this.turns.run(async () => {
      const known = this.deployer.operation(id);
      if (known) return known;
      const { applying, refusal } = this.records.advice;
      if (applying?.operation_id !== id) throw conflict(refusal ?? 'It was applied, or refused, a moment ago.');
      return this.request(proposal, id, by);
    });
  }

  private async request({ moves, disruption, placement }: Proposal, id: string, by: string): Promise<Operation> {
    const request = { move: moves, max_moved: disruption.moved.length };
    try {
      return await this.deployer.change(request, { id, kind: 'reconfigure', by, as_planned: true }, () => {
        const now = this.view.comingPlan;
        const isSame = now !== null && placementOf(now) === placement;
        return isSame ? null : 'Something else was deployed since it was advised.';
      });
    } catch (error) {
      // Of other errors it is not known whether it was accepted: the loop asks again by the same id.
      if (error instanceof ProblemError && error.status < 500) await this.refuse(id, error.message, by);
      throw error;
    }
  }

  private refuse(operation_id: string, why: string, by: string): Promise<void> {
    return this.records.end(operation_id, why, {
      type: 'upkeep.refused',
      subject: SUBJECT,
      message: why,
      actor: by,
      data: { operation_id },
    });
  }
}

function refused(error: unknown): null {
  if (error instanceof ProblemError && error.status < 500) return null;
  throw error;
}
