import { Global, Module } from '@nestjs/common';
import { DEPLOYMENT_VIEW } from '../../ports/deployment-view.js';
import { DesiredStore } from './desired-store.js';

@Global()
@Module({
  providers: [DesiredStore, { provide: DEPLOYMENT_VIEW, useExisting: DesiredStore }],
  exports: [DEPLOYMENT_VIEW],
})
export class DeploymentsModule {}
