import { Controller, Global, Inject, Module, Res } from '@nestjs/common';
import {
  API_PREFIX,
  type P4Cells,
  type P4Entries,
  type P4Program,
  type P4ProgramFiles,
  type P4Reading,
  type RouteInput,
  type SessionInfo,
} from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import type { Precondition } from '../../platform/precondition.js';
import { notFound } from '../../platform/problem.js';
import { Caller, etagOf, IfMatch, Input, Route } from '../../platform/route.js';
import { SWITCH_PROGRAMS } from '../../ports/switch-programs.js';
import { P4ProgramsService } from './p4-programs.service.js';
import { SwitchEntriesService } from './switch-entries.service.js';

@Controller()
class P4ProgramsController {
  constructor(
    @Inject(P4ProgramsService) private readonly programs: P4ProgramsService,
    @Inject(SwitchEntriesService) private readonly entries: SwitchEntriesService,
  ) {}

  @Route('listP4Programs')
  list(@Input() { query }: RouteInput<'listP4Programs'>, @Res({ passthrough: true }) reply: FastifyReply) {
    return pageOf(this.programs.listed(), query, ({ name }) => name, reply);
  }

  @Route('createP4Program')
  async create(
    @Input() { body }: RouteInput<'createP4Program'>,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<P4Program> {
    await this.programs.create(body, caller.name);
    reply.header('location', `${API_PREFIX}/p4-programs/${body.name}`);
    return this.programs.get(body.name);
  }

  @Route('getP4Program')
  get(@Input() { params }: RouteInput<'getP4Program'>): P4Program {
    return this.programs.get(params.id);
  }

  @Route('downloadP4Program')
  files(@Input() { params }: RouteInput<'downloadP4Program'>): P4ProgramFiles {
    const found = this.programs.find(params.id);
    if (!found) throw notFound('P4 program', params.id);
    return found.files;
  }

  @Route('deleteP4Program')
  async delete(@Input() { params }: RouteInput<'deleteP4Program'>, @Caller() caller: SessionInfo): Promise<void> {
    await this.programs.remove(params.id, caller.name);
  }

  @Route('getP4Entries')
  getEntries(
    @Input() { params }: RouteInput<'getP4Entries'>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): P4Entries {
    return this.tagged(params.id, reply);
  }

  @Route('putP4Entries')
  async putEntries(
    @Input() { params, body }: RouteInput<'putP4Entries'>,
    @IfMatch() ifMatch: Precondition,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<P4Entries> {
    await this.entries.put(params.id, body, ifMatch, caller.name);
    return this.tagged(params.id, reply);
  }

  @Route('getExampleP4Entries')
  example(@Input() { params }: RouteInput<'getExampleP4Entries'>): P4Entries {
    return this.entries.example(params.id);
  }

  @Route('readP4Tables')
  tables(@Input() { params }: RouteInput<'readP4Tables'>): Promise<P4Reading> {
    return this.entries.tables(params.id);
  }

  @Route('readP4Cells')
  cells(@Input() { params, query }: RouteInput<'readP4Cells'>): Promise<P4Cells> {
    return this.entries.cells(params.id, query);
  }

  private tagged(id: string, reply: FastifyReply): P4Entries {
    const { content, revision } = this.entries.get(id);
    reply.header('etag', etagOf(revision));
    return content;
  }
}

@Global()
@Module({
  controllers: [P4ProgramsController],
  providers: [P4ProgramsService, SwitchEntriesService, { provide: SWITCH_PROGRAMS, useExisting: P4ProgramsService }],
  exports: [SWITCH_PROGRAMS],
})
export class P4ProgramsModule {}
