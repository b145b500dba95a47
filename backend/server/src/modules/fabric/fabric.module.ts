import { Global, Module } from '@nestjs/common';
import { FABRIC, FABRIC_VIEW } from '../../ports/fabric-driver.js';
import { FabricControl } from './fabric-control.js';
import { SwitchesController } from './switches.controller.js';

@Global()
@Module({
  controllers: [SwitchesController],
  providers: [
    FabricControl,
    { provide: FABRIC, useExisting: FabricControl },
    { provide: FABRIC_VIEW, useExisting: FabricControl },
  ],
  exports: [FABRIC, FABRIC_VIEW],
})
export class FabricModule {}
