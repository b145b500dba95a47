import { Global, Module } from '@nestjs/common';
import { EXCLUSIONS } from '../../ports/exclusions.js';
import { Accounts } from './accounts.js';
import { Healer } from './healer.js';
import { HealingController } from './healing.controller.js';
import { MaintenanceService } from './maintenance.service.js';
import { HealingRecords } from './records.js';
import { Redeployment } from './redeployment.js';

@Global()
@Module({
  controllers: [HealingController],
  providers: [
    HealingRecords,
    { provide: EXCLUSIONS, useExisting: HealingRecords },
    Accounts,
    MaintenanceService,
    Redeployment,
    Healer,
  ],
  exports: [EXCLUSIONS],
})
export class HealingModule {}
