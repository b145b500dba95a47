import { Global, Module } from '@nestjs/common';
import { SPLIT_HANDOVERS } from '../../ports/split-handovers.js';
import { SplitHandoverController } from './split-handover.controller.js';
import { SplitHandover } from './split-handover.js';

@Global()
@Module({
  controllers: [SplitHandoverController],
  providers: [SplitHandover, { provide: SPLIT_HANDOVERS, useExisting: SplitHandover }],
  exports: [SPLIT_HANDOVERS],
})
export class SplitHandoverModule {}
