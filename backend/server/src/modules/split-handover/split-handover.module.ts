import { Module } from '@nestjs/common';
import { SplitHandover } from './split-handover.js';

@Module({ providers: [SplitHandover] })
export class SplitHandoverModule {}
