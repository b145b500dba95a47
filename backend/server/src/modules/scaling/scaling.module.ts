import { Module } from '@nestjs/common';
import { ScalingConductor } from './conductor.js';
import { ScalingLoads } from './loads.js';
import { ScalingPoliciesController } from './policies.controller.js';
import { ScalingPolicies } from './policies.js';
import { Scaler } from './scaler.js';
import { ScalingController } from './scaling.controller.js';
import { ScalingLoop } from './scaling-loop.js';
import { Scalings } from './scalings.js';
import { TrackedFlows } from './tracked-flows.js';

/** Numbers of instances that follow the load (E2 3.4.3): policies, decisions, and the changes from step to step. */
@Module({
  controllers: [ScalingController, ScalingPoliciesController],
  providers: [Scalings, ScalingPolicies, TrackedFlows, Scaler, ScalingConductor, ScalingLoads, ScalingLoop],
})
export class ScalingModule {}
