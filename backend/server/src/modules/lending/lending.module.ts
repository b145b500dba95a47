import { Module } from '@nestjs/common';
import { LendingGroups } from './groups.js';
import { LendingLedgers } from './ledger.js';
import { LendingController } from './lending.controller.js';
import { LendingLoop } from './lending-loop.js';
import { LendingReferences } from './lending-references.js';
import { LendingView } from './lending-view.js';
import { LendingMembers } from './members.js';

@Module({
  controllers: [LendingController],
  providers: [LendingGroups, LendingLedgers, LendingMembers, LendingLoop, LendingReferences, LendingView],
})
export class LendingModule {}
