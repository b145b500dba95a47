import { Inject, Injectable } from '@nestjs/common';
import { acceleratorNamed } from '@orrery/contract';
import type { Accelerate } from './accelerate.js';
import { ByElementManager } from './by-element-manager.js';
import { ByMove } from './by-move.js';

/** Of every accelerator, by its name, how it is taken and given back. */
@Injectable()
export class AcceleratorKinds {
  constructor(
    @Inject(ByElementManager) private readonly instructions: Accelerate,
    @Inject(ByMove) private readonly slots: Accelerate,
  ) {}

  of(accelerator: string): Accelerate {
    return acceleratorNamed(accelerator).kind === 'slot' ? this.slots : this.instructions;
  }
}
