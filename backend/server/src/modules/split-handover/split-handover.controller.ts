import { Controller, Inject } from '@nestjs/common';
import type { HandoverProgress, RouteInput } from '@orrery/contract';
import { Input, Route } from '../../platform/route.js';
import { SplitHandover } from './split-handover.js';

@Controller()
export class SplitHandoverController {
  constructor(@Inject(SplitHandover) private readonly handovers: SplitHandover) {}

  @Route('retryHandover')
  retry(@Input() { params }: RouteInput<'retryHandover'>): Promise<HandoverProgress> {
    return this.handovers.retry(params.chain_id, params.node_id);
  }
}
