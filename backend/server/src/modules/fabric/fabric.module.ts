import { Global, Module } from '@nestjs/common';
import { FABRIC, FABRIC_VIEW } from '../../ports/fabric-driver.js';
import { LINK_STATES } from '../../ports/link-states.js';
import { FabricControl } from './fabric-control.js';
import { LinksAround } from './links-around.js';
import { SwitchesController } from './switches.controller.js';

@Global()
@Module({
  controllers: [SwitchesController],
  providers: [
    LinksAround,
    { provide: LINK_STATES, useExisting: LinksAround },
    FabricControl,
    { provide: FABRIC, useExisting: FabricControl },
    { provide: FABRIC_VIEW, useExisting: FabricControl },
  ],
  exports: [FABRIC, FABRIC_VIEW, LINK_STATES],
})
export class FabricModule {}
