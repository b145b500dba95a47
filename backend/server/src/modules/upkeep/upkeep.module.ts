import { Module } from '@nestjs/common';
import { Applier } from './applier.js';
import { Hindrance } from './hindrance.js';
import { UpkeepLoads } from './loads.js';
import { UpkeepRecords } from './records.js';
import { UpkeepController } from './upkeep.controller.js';
import { UpkeepLoop } from './upkeep-loop.js';

@Module({
  controllers: [UpkeepController],
  providers: [UpkeepRecords, UpkeepLoads, Hindrance, Applier, UpkeepLoop],
})
export class UpkeepModule {}
