import { Global, Module } from '@nestjs/common';
import { EXCLUSIONS } from '../../ports/exclusions.js';
import { NOT_KEPT_CHAINS } from '../../ports/not-kept-chains.js';
import { Accounts } from './accounts.js';
import { Healer } from './healer.js';
import { HealingController } from './healing.controller.js';
import { Keepers } from './keepers.js';
import { LostParts } from './lost-parts.js';
import { MaintenanceService } from './maintenance.service.js';
import { HealingRecords } from './records.js';
import { Redeployment } from './redeployment.js';

@Global()
@Module({
  controllers: [HealingController],
  providers: [
    HealingRecords,
    { provide: EXCLUSIONS, useExisting: HealingRecords },
    Keepers,
    { provide: NOT_KEPT_CHAINS, useExisting: Keepers },
    Accounts,
    MaintenanceService,
    Redeployment,
    Healer,
    LostParts,
  ],
  exports: [EXCLUSIONS, NOT_KEPT_CHAINS],
})
export class HealingModule {}
