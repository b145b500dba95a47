import { Controller, Global, Inject, Injectable, Module, Res } from '@nestjs/common';
import type { Operation, RouteInput } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import { notFound } from '../../platform/problem.js';
import { STORE, type Store, type Transaction } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import { Input, Route } from '../../platform/route.js';
import { isOver, OPERATIONS, type OperationLog } from '../../ports/operation-log.js';

/** Operations that are over are forgotten beyond so many. */
const KEEP = 500;

@Injectable()
class OperationsService implements OperationLog {
  constructor(@Inject(STORE) private readonly store: Store) {}

  /** Newest first. */
  async list(): Promise<Operation[]> {
    const operations = await this.store.hashValues<Operation>(KEYS.operations);
    return operations.sort((a, b) => b.started_ms - a.started_ms || (a.id < b.id ? 1 : -1));
  }

  get(id: string): Promise<Operation | null> {
    return this.store.hashJson<Operation>(KEYS.operations, id);
  }

  writeIn(transaction: Transaction, operation: Operation): void {
    transaction.hset(KEYS.operations, operation.id, JSON.stringify(operation));
    transaction.zadd(KEYS.operationIndex, operation.started_ms, operation.id);
    if (isOver(operation)) void this.forgetOldest().catch(() => undefined);
  }

  private async forgetOldest(): Promise<void> {
    const ids = await this.store.redis.zrange(KEYS.operationIndex, '0', String(-(KEEP + 1)));
    if (ids.length === 0) return;
    await this.store.transact((transaction) => {
      transaction.hdel(KEYS.operations, ...ids);
      transaction.zrem(KEYS.operationIndex, ...ids);
    });
  }
}

@Controller()
class OperationsController {
  constructor(@Inject(OperationsService) private readonly operations: OperationsService) {}

  @Route('listOperations')
  async list(@Input() { query }: RouteInput<'listOperations'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const all = await this.operations.list();
    const chosen = all.filter(
      (operation) =>
        (!query.state || operation.state === query.state) &&
        (!query.kind || operation.kind === query.kind) &&
        (!query.subject || operation.subject === query.subject),
    );
    return pageOf(chosen, query, ({ id }) => id, reply);
  }

  @Route('getOperation')
  async get(@Input() { params }: RouteInput<'getOperation'>): Promise<Operation> {
    const operation = await this.operations.get(params.id);
    if (!operation) throw notFound('operation', params.id);
    return operation;
  }
}

@Global()
@Module({
  controllers: [OperationsController],
  providers: [OperationsService, { provide: OPERATIONS, useExisting: OperationsService }],
  exports: [OPERATIONS],
})
export class OperationsModule {}
