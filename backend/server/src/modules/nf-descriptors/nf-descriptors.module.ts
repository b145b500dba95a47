import { Controller, Global, Inject, Injectable, Module, type OnModuleInit, Res } from '@nestjs/common';
import type { NfDescriptor, RouteInput } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { CONFIG, type Config } from '../../platform/config.js';
import { LOG, type Log } from '../../platform/log.js';
import { pageOf } from '../../platform/paging.js';
import { PROBES, type Probes } from '../../platform/probes.js';
import { notFound } from '../../platform/problem.js';
import { Input, Route } from '../../platform/route.js';
import { DESCRIPTORS, type DescriptorCatalogue } from '../../ports/descriptor-catalogue.js';
import { type LoadedCatalogue, loadCatalogue } from './catalogue.js';

@Injectable()
class NfDescriptorsService implements DescriptorCatalogue, OnModuleInit {
  private loaded: LoadedCatalogue = { descriptors: [], problems: [] };

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOG) private readonly log: Log,
    @Inject(PROBES) private readonly probes: Probes,
  ) {}

  async onModuleInit(): Promise<void> {
    this.loaded = await loadCatalogue(this.config.catalogue);
    for (const problem of this.loaded.problems) this.log.warn({ problem }, 'a descriptor was skipped');
    this.probes.onHealth(() => [
      {
        name: 'catalogue',
        status: this.loaded.problems.length > 0 ? 'degraded' : 'ok',
        detail: this.loaded.problems.join('\n') || `${this.loaded.descriptors.length} network functions`,
      },
    ]);
  }

  all(): readonly NfDescriptor[] {
    return this.loaded.descriptors;
  }

  find(id: string): NfDescriptor | undefined {
    return this.loaded.descriptors.find((descriptor) => descriptor.id === id);
  }
}

@Controller()
class NfDescriptorsController {
  constructor(@Inject(DESCRIPTORS) private readonly catalogue: DescriptorCatalogue) {}

  @Route('listNfDescriptors')
  list(@Input() { query }: RouteInput<'listNfDescriptors'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const chosen = this.catalogue.all().filter(({ category }) => !query.category || category === query.category);
    return pageOf(chosen, query, ({ id }) => id, reply);
  }

  @Route('getNfDescriptor')
  get(@Input() { params }: RouteInput<'getNfDescriptor'>): NfDescriptor {
    const descriptor = this.catalogue.find(params.id);
    if (!descriptor) throw notFound('NF descriptor', params.id);
    return descriptor;
  }
}

@Global()
@Module({
  controllers: [NfDescriptorsController],
  providers: [{ provide: DESCRIPTORS, useClass: NfDescriptorsService }],
  exports: [DESCRIPTORS],
})
export class NfDescriptorsModule {}
