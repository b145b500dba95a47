import { Controller, Global, Inject, Module } from '@nestjs/common';
import type { RouteInput, Series } from '@orrery/contract';
import { Input, Route } from '../../platform/route.js';
import { TELEMETRY, TELEMETRY_SINK, type Telemetry } from '../../ports/telemetry.js';
import { SamplesService } from './samples.service.js';

@Controller()
class SamplesController {
  constructor(@Inject(TELEMETRY) private readonly telemetry: Telemetry) {}

  @Route('listSamples')
  list(@Input() { query }: RouteInput<'listSamples'>): { items: Series[]; total: number } {
    const items = this.telemetry.series(query.keys.split(',').filter(Boolean), query.since ?? 0);
    return { items, total: items.length };
  }
}

@Global()
@Module({
  controllers: [SamplesController],
  providers: [
    SamplesService,
    { provide: TELEMETRY, useExisting: SamplesService },
    { provide: TELEMETRY_SINK, useExisting: SamplesService },
  ],
  exports: [TELEMETRY, TELEMETRY_SINK],
})
export class SamplesModule {}
