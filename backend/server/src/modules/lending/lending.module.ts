import { Global, Module } from '@nestjs/common';
import { LENDERS } from '../../ports/lenders.js';
import { AcceleratorKinds } from './accelerator-kinds.js';
import { ByElementManager } from './by-element-manager.js';
import { ByMove } from './by-move.js';
import { LendingGroups } from './groups.js';
import { LendingLedgers } from './ledger.js';
import { LendingRights } from './lenders.js';
import { LendingController } from './lending.controller.js';
import { LendingLoop } from './lending-loop.js';
import { LendingReferences } from './lending-references.js';
import { LendingView } from './lending-view.js';
import { LendingMembers } from './members.js';

@Global()
@Module({
  controllers: [LendingController],
  providers: [
    LendingGroups,
    LendingLedgers,
    ByElementManager,
    ByMove,
    AcceleratorKinds,
    LendingMembers,
    LendingLoop,
    LendingReferences,
    LendingView,
    { provide: LENDERS, useClass: LendingRights },
  ],
  exports: [LENDERS],
})
export class LendingModule {}
