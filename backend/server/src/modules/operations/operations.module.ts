import { Controller, Global, Inject, Injectable, Module, type OnModuleInit, Res } from '@nestjs/common';
import { Operation, type RouteInput } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { type Batch, COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { pageOf } from '../../platform/paging.js';
import { notFound } from '../../platform/problem.js';
import { KEYS } from '../../platform/redis-keys.js';
import { Input, Route } from '../../platform/route.js';
import { isOver, OPERATIONS, type OperationLog } from '../../ports/operation-log.js';

/** Number of finished operations that are kept. */
const KEEP = 500;

@Injectable()
class OperationsService implements OperationLog, OnModuleInit {
  private readonly operations: DurableCollection<Operation>;

  constructor(@Inject(COLLECTIONS) private readonly collections: Collections) {
    this.operations = collections.open({
      key: KEYS.operations,
      noun: 'operation',
      schema: Operation,
      version: 1,
      idOf: ({ id }) => id,
      numbered: 'newest-first',
      order: (a, b) => b.started_ms - a.started_ms || (a.id < b.id ? 1 : -1),
      bound: { most: KEEP, policy: 'drop-last', keeps: (operation) => !isOver(operation) },
    });
  }

  onModuleInit(): Promise<void> {
    return this.operations.load();
  }

  /** Newest first, as they are stored. */
  async list(): Promise<readonly Operation[]> {
    await this.collections.certain();
    return this.operations.all();
  }

  find(id: string): Operation | undefined {
    return this.operations.find(id);
  }

  async get(id: string): Promise<Operation | null> {
    await this.collections.certain();
    return this.operations.find(id) ?? null;
  }

  putIn(batch: Batch, operation: Operation): void {
    batch.put(this.operations, operation);
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
