import { Controller, Global, Inject, Module, Res } from '@nestjs/common';
import type { RouteInput, SessionInfo, SloAlert, SloHistory } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import { notFound } from '../../platform/problem.js';
import { Caller, Input, Route } from '../../platform/route.js';
import { SLO_BOARD, type SloBoard } from '../../ports/telemetry.js';
import { SloAlerts } from './alerts/slo-alerts.js';
import { byWallClock, historyOf } from './ledger/history-view.js';
import { LedgerKeeper } from './ledger/ledger-keeper.js';
import { SloLedgers } from './ledger/slo-ledgers.js';
import { LeftOutObjectives } from './left-out.js';
import { RunningPredictions } from './running-predictions.js';
import { SloMetrics } from './slo-metrics.js';
import { idOf, SlosService } from './slos.service.js';

@Controller()
class SlosController {
  constructor(
    @Inject(SLO_BOARD) private readonly board: SloBoard,
    @Inject(SloLedgers) private readonly ledgers: SloLedgers,
    @Inject(SloAlerts) private readonly alerts: SloAlerts,
  ) {}

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

  @Route('getSloHistory')
  history(@Input() { params, query }: RouteInput<'getSloHistory'>): SloHistory {
    const ledger = this.ledgers.find(params.chain_id, params.slo_id);
    if (!ledger) throw notFound('objective with a history', `${params.chain_id}/${params.slo_id}`);
    const { clock } = this.ledgers;
    return historyOf(ledger, query, clock, clock.at(Date.now(), performance.now()));
  }

  @Route('listSloAlerts')
  listAlerts(@Input() { query }: RouteInput<'listSloAlerts'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const { chain_id, slo_id, state } = query;
    const chosen = this.alerts
      .all()
      .filter(
        (alert) =>
          (!chain_id || alert.chain_id === chain_id) &&
          (!slo_id || alert.slo_id === slo_id) &&
          (!state || alert.state === state),
      );
    const told = chosen.map((alert) => byWallClock(alert, this.ledgers.clock));
    return pageOf(told, query, ({ id }) => id, reply);
  }

  @Route('acknowledgeSloAlert')
  async acknowledge(
    @Input() { params, body }: RouteInput<'acknowledgeSloAlert'>,
    @Caller() caller: SessionInfo,
  ): Promise<SloAlert> {
    return byWallClock(await this.alerts.acknowledge(params.id, body.note, caller.name), this.ledgers.clock);
  }
}

@Global()
@Module({
  controllers: [SlosController],
  providers: [
    RunningPredictions,
    SloLedgers,
    SloAlerts,
    LedgerKeeper,
    LeftOutObjectives,
    SlosService,
    SloMetrics,
    { provide: SLO_BOARD, useExisting: SlosService },
  ],
  exports: [SLO_BOARD],
})
export class SlosModule {}
