import { Controller, Global, Inject, Module, Res } from '@nestjs/common';
import type { RouteInput } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import { Input, Route } from '../../platform/route.js';
import { SLO_BOARD, type SloBoard } from '../../ports/telemetry.js';
import { RunningPredictions } from './running-predictions.js';
import { idOf, SlosService } from './slos.service.js';

@Controller()
class SlosController {
  constructor(@Inject(SLO_BOARD) private readonly board: SloBoard) {}

  @Route('listSlos')
  list(@Input() { query }: RouteInput<'listSlos'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const chosen = this.board
      .all()
      .filter(
        (status) =>
          (!query.chain_id || status.chain_id === query.chain_id) && (!query.state || status.state === query.state),
      );
    return pageOf(chosen, query, idOf, reply);
  }
}

@Global()
@Module({
  controllers: [SlosController],
  providers: [RunningPredictions, SlosService, { provide: SLO_BOARD, useExisting: SlosService }],
  exports: [SLO_BOARD],
})
export class SlosModule {}
