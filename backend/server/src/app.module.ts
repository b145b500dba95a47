import { type DynamicModule, Module } from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { AcceleratorsModule } from './modules/accelerators/accelerators.module.js';
import { ApplicationsModule } from './modules/applications/applications.module.js';
import { CalibrationModule } from './modules/calibration/calibration.module.js';
import { ChainsModule } from './modules/chains/chains.module.js';
import { DataPathModule } from './modules/data-path/data-path.module.js';
import { DeploymentsModule } from './modules/deployments/deployments.module.js';
import { ElementManagersModule } from './modules/element-managers/element-managers.module.js';
import { EventsModule } from './modules/events/events.module.js';
import { FabricModule } from './modules/fabric/fabric.module.js';
import { HealingModule } from './modules/healing/healing.module.js';
import { InfrastructureModule } from './modules/infrastructure/infrastructure.module.js';
import { LeasesModule } from './modules/leases/leases.module.js';
import { LendingModule } from './modules/lending/lending.module.js';
import { LoopsModule } from './modules/loops/loops.module.js';
import { NfDescriptorsModule } from './modules/nf-descriptors/nf-descriptors.module.js';
import { NodesModule } from './modules/nodes/nodes.module.js';
import { OperationsModule } from './modules/operations/operations.module.js';
import { P4ProgramsModule } from './modules/p4-programs/p4-programs.module.js';
import { PlansModule } from './modules/plans/plans.module.js';
import { ReconfigurationModule } from './modules/reconfiguration/reconfiguration.module.js';
import { SamplesModule } from './modules/samples/samples.module.js';
import { ScalingModule } from './modules/scaling/scaling.module.js';
import { ScenariosModule } from './modules/scenarios/scenarios.module.js';
import { ServiceRequestsModule } from './modules/service-requests/service-requests.module.js';
import { SessionsModule } from './modules/sessions/sessions.module.js';
import { ShellsModule } from './modules/shells/shells.module.js';
import { SlosModule } from './modules/slos/slos.module.js';
import { SplitHandoverModule } from './modules/split-handover/split-handover.module.js';
import { StreamModule } from './modules/stream/stream.module.js';
import { SystemModule } from './modules/system/system.module.js';
import { TwinModule } from './modules/twin/twin.module.js';
import { UpkeepModule } from './modules/upkeep/upkeep.module.js';
import { WebhooksModule } from './modules/webhooks/webhooks.module.js';
import { AuthGuard } from './platform/auth.guard.js';
import { IdempotencyInterceptor } from './platform/idempotency.interceptor.js';
import { type PlatformParts, platformModule } from './platform/platform.module.js';

@Module({})
class AppModule {}

/** Wires the parts together; modules depend on each other only through the tokens in `ports/`. */
export function appModule(parts: PlatformParts): DynamicModule {
  return {
    module: AppModule,
    imports: [
      platformModule(parts),
      EventsModule,
      LoopsModule,
      LeasesModule,
      SessionsModule,
      NfDescriptorsModule,
      DeploymentsModule,
      HealingModule,
      InfrastructureModule,
      P4ProgramsModule,
      ChainsModule,
      SamplesModule,
      NodesModule,
      FabricModule,
      ElementManagersModule,
      AcceleratorsModule,
      DataPathModule,
      CalibrationModule,
      SlosModule,
      OperationsModule,
      PlansModule,
      TwinModule,
      ApplicationsModule,
      ReconfigurationModule,
      LendingModule,
      ServiceRequestsModule,
      ScalingModule,
      ScenariosModule,
      SplitHandoverModule,
      StreamModule,
      UpkeepModule,
      ShellsModule,
      WebhooksModule,
      SystemModule,
    ],
    providers: [
      { provide: APP_GUARD, useClass: AuthGuard },
      { provide: APP_INTERCEPTOR, useClass: IdempotencyInterceptor },
    ],
  };
}
