import { Controller, Global, Inject, Module } from '@nestjs/common';
import type { ElementState, RouteInput, SessionInfo } from '@orrery/contract';
import { Caller, Input, Route } from '../../platform/route.js';
import { ELEMENT_MANAGERS } from '../../ports/element-managers.js';
import { LENDERS, type Lenders } from '../../ports/lenders.js';
import { ElementManagersService } from './element-managers.service.js';

@Controller()
class ElementManagersController {
  constructor(
    @Inject(ElementManagersService) private readonly elements: ElementManagersService,
    @Inject(LENDERS) private readonly lenders: Lenders,
  ) {}

  @Route('getNfInstanceElement')
  get(@Input() { params }: RouteInput<'getNfInstanceElement'>): ElementState {
    return this.elements.required(params.id);
  }

  @Route('accelerateNfInstance')
  accelerate(
    @Input() { params }: RouteInput<'accelerateNfInstance'>,
    @Caller() caller: SessionInfo,
  ): Promise<ElementState> {
    return this.switchTo(params.id, true, caller);
  }

  @Route('releaseNfInstance')
  release(@Input() { params }: RouteInput<'releaseNfInstance'>, @Caller() caller: SessionInfo): Promise<ElementState> {
    return this.switchTo(params.id, false, caller);
  }

  private async switchTo(id: string, accelerated: boolean, { name }: SessionInfo): Promise<ElementState> {
    this.lenders.requireFree(this.elements.instance(id), accelerated);
    return this.elements.switchTo(id, accelerated, { by: name });
  }
}

@Global()
@Module({
  controllers: [ElementManagersController],
  providers: [ElementManagersService, { provide: ELEMENT_MANAGERS, useExisting: ElementManagersService }],
  exports: [ELEMENT_MANAGERS],
})
export class ElementManagersModule {}
