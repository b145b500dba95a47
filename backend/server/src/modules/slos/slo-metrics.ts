import { Inject, Injectable } from '@nestjs/common';
import type { Plan, SloStatus } from '@orrery/contract';
import { Gauge } from 'prom-client';
import { METRICS, type Metrics } from '../../platform/metrics.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { SLO_BOARD, type SloBoard } from '../../ports/telemetry.js';
import { SloAlerts } from './alerts/slo-alerts.js';
import { ledgerId, MOST_LEDGERS, SloLedgers } from './ledger/slo-ledgers.js';

const OF_OBJECTIVE = ['chain', 'class', 'objective'] as const;
type Labels = Record<(typeof OF_OBJECTIVE)[number], string>;
type Figure = (status: SloStatus) => number | null | undefined;

/** Of each objective one series, as far as the figure is known. */
const FIGURES: readonly (readonly [name: string, help: string, figure: Figure])[] = [
  ['good_seconds', 'Seconds of the period in which the objective was met', ({ budget }) => budget?.good_s],
  ['bad_seconds', 'Seconds of the period in which the objective was missed', ({ budget }) => budget?.bad_s],
  ['unknown_seconds', 'Seconds of the period of which nobody knows', ({ budget }) => budget?.unknown_s],
  ['goal_ratio', 'Share of the judged time in which the objective is to be met', ({ budget }) => budget?.goal],
  ['compliance_ratio', 'Share of the judged time in which the objective was met', ({ budget }) => budget?.compliance],
  ['budget_left_ratio', 'Share of the budget that is left; negative: overdrawn', ({ budget }) => budget?.left_share],
  ['budget_left_seconds', 'Seconds for which the objective may still be missed', ({ budget }) => budget?.left_s],
];

type Tell = (set: (labels: Labels & Record<string, string>, value: number) => void, status: SloStatus) => void;

/** Objectives in Prometheus. At most `MOST_LEDGERS` of them, those with a budget first, and the number of the others. */
@Injectable()
export class SloMetrics {
  constructor(
    @Inject(METRICS) { registry }: Metrics,
    @Inject(SLO_BOARD) board: SloBoard,
    @Inject(SloLedgers) ledgers: SloLedgers,
    @Inject(SloAlerts) alerts: SloAlerts,
    @Inject(DEPLOYMENT_VIEW) view: DeploymentView,
  ) {
    let known: { readonly plan: Plan | null; readonly classes: ReadonlyMap<string, string> } | null = null;
    const labelsOf = (status: SloStatus): Labels => {
      if (known?.plan !== view.plan) known = { plan: view.plan, classes: classesOf(view.plan) };
      const { chain_id: chain, slo_id: objective } = status;
      return { chain, class: known!.classes.get(ledgerId(status)) ?? '', objective };
    };
    const gauge = (name: string, help: string, more: readonly string[], tellNow: () => Tell) =>
      new Gauge({
        name: `orrery_slo_${name}`,
        help,
        labelNames: [...OF_OBJECTIVE, ...more],
        registers: [registry],
        collect() {
          this.reset();
          const tell = tellNow();
          for (const status of countedFirst(board.all()).slice(0, MOST_LEDGERS))
            tell((labels, value) => this.set(labels, value), status);
        },
      });
    for (const [name, help, figure] of FIGURES)
      gauge(name, help, [], () => (set, status) => {
        const value = figure(status);
        if (value !== null && value !== undefined) set(labelsOf(status), value);
      });
    gauge('state', 'State of the objective: the one that it is in is 1', ['state'], () => (set, status) => {
      set({ ...labelsOf(status), state: status.state }, 1);
    });
    gauge(
      'burn_rate',
      'How fast the budget is used up over a window: at 1 it lasts its period',
      ['window'],
      () => (set, status) => {
        for (const { window_s, rate } of status.budget?.burn ?? [])
          if (rate !== null) set({ ...labelsOf(status), window: `${window_s}s` }, rate);
      },
    );
    gauge('alerts_open', 'Open alerts about the budget', ['severity'], () => {
      const open = alerts.openNumbers();
      return (set, status) => {
        const own = open.get(ledgerId(status));
        for (const severity of ['warning', 'error'] as const)
          set({ ...labelsOf(status), severity }, own?.[severity] ?? 0);
      };
    });
    new Gauge({
      name: 'orrery_slo_objectives_without_budget',
      help: 'Objectives whose seconds are not counted, because there are too many',
      registers: [registry],
      collect() {
        this.set(ledgers.uncountedNumber);
      },
    });
  }
}

/** Where there are more than are told, those go first whose seconds are counted. */
function countedFirst(statuses: readonly SloStatus[]): readonly SloStatus[] {
  if (statuses.length <= MOST_LEDGERS) return statuses;
  const counted = statuses.filter(({ budget }) => budget !== null);
  return [...counted, ...statuses.filter(({ budget }) => budget === null)];
}

/** The two classes of each objective between classes, by chain and objective. */
function classesOf(plan: Plan | null): ReadonlyMap<string, string> {
  const named = (plan?.chains ?? []).flatMap(({ chain_id, definition }) =>
    definition.class_slos.map((slo): [string, string] => [
      ledgerId({ chain_id, slo_id: slo.id }),
      slo.kind === 'priority' ? `${slo.above}/${slo.below}` : `${slo.a}/${slo.b}`,
    ]),
  );
  return new Map(named);
}
