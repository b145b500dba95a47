import { Global, Module } from '@nestjs/common';
import { RECONFIGURER } from '../../ports/reconfigurer.js';
import { BoardNews } from './conduct/board-news.js';
import { ChangeMaker } from './conduct/change-maker.js';
import { Conductor } from './conduct/conductor.js';
import { TakeBack } from './conduct/take-back.js';
import { Detection } from './decision/detection.js';
import { BoardWatcher } from './policies/board-watcher.js';
import { PoliciesController } from './policies/policies.controller.js';
import { Policies } from './policies/policies.js';
import { PolicyRules } from './policies/policy-rules.js';
import { PolicySweeper } from './policies/policy-sweeper.js';
import { PolicyWatcher } from './policies/policy-watcher.js';
import { Records } from './records/records.js';
import { ReconfigurationsController } from './requests/reconfigurations.controller.js';
import { ReconfigurationRequests } from './requests/reconfigurer.js';
import { References } from './requests/references.js';
import { SlotOffers } from './requests/slot-offers.js';

/** Watching (policies, boards), requests, decision, execution and records of reconfigurations. */
@Global()
@Module({
  controllers: [PoliciesController, ReconfigurationsController],
  providers: [
    Policies,
    PolicyRules,
    PolicySweeper,
    PolicyWatcher,
    BoardWatcher,
    References,
    ReconfigurationRequests,
    SlotOffers,
    { provide: RECONFIGURER, useExisting: ReconfigurationRequests },
    Detection,
    ChangeMaker,
    TakeBack,
    BoardNews,
    Conductor,
    Records,
  ],
  exports: [RECONFIGURER],
})
export class ReconfigurationModule {}
