import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { type AlertRule, type Event, SloAlert, type SloCause, type SloPlace } from '@orrery/contract';
import type { LoopRun } from '../../../platform/control-loop/definition.js';
import { type Batch, COLLECTIONS, type Collections } from '../../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../../platform/durable-collection/durable-collection.js';
import { newId } from '../../../platform/ids.js';
import { LOG, type Log } from '../../../platform/log.js';
import { KEYS } from '../../../platform/redis-keys.js';
import { DATA_PATH, type DataPath } from '../../../ports/data-path.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../../ports/deployment-view.js';
import { EVENT_LOG, EVENT_SOURCE, type EventLog, type EventSource } from '../../../ports/event-log.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../../ports/infrastructure-store.js';
import { TELEMETRY, type Telemetry } from '../../../ports/telemetry.js';
import { AlertState, type Burning, burning, ruleName, rulesOf } from '../budget/alert-rules.js';
import { budgetOf } from '../budget/budget.js';
import { type Ledger, ledgerId } from '../ledger/slo-ledgers.js';
import { BEFORE_MS, causeOf, siteOf } from './causes.js';
import { growthsOf } from './growths.js';
import { whereFuller, whereSlower } from './places.js';

/** Resolved alerts beyond this number are forgotten, the oldest first. */
const MOST_ALERTS = 1000;
/** Events that are read for one cause. */
const MOST_EVENTS = 2000;
const RANK = { error: 0, warning: 1, info: 2 } as const;

type Decide = LoopRun['decide'];

/** Watches how fast the budgets of objectives burn, and says why. */
@Injectable()
export class SloAlerts implements OnModuleInit {
  private readonly alerts: DurableCollection<SloAlert>;
  private readonly states = new Map<
    string,
    { readonly ledger: string; readonly sinceMs: number; readonly state: AlertState }
  >();
  private readonly ending = new Set<string>();

  constructor(
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(EVENT_SOURCE) private readonly source: EventSource,
    @Inject(TELEMETRY) private readonly telemetry: Telemetry,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(DATA_PATH) private readonly dataPath: DataPath,
    @Inject(LOG) private readonly log: Log,
  ) {
    this.alerts = collections.open<SloAlert>({
      key: KEYS.sloAlerts,
      noun: 'alert',
      schema: SloAlert,
      version: 1,
      idOf: ({ id }) => id,
      order: worstFirst,
      bound: { most: MOST_ALERTS, policy: 'drop-last', keeps: ({ state }) => state === 'open' },
    });
  }

  onModuleInit(): Promise<void> {
    return this.alerts.load();
  }

  /** Open ones first, of these the worst. */
  all(): readonly SloAlert[] {
    return this.alerts.all();
  }

  /** Fires and resolves alerts by what the ledgers say now. Times: of the wall clock, and of a monotonic one. */
  judge(ledgers: readonly Ledger[], decide: Decide, wallMs: number, nowMs: number): void {
    for (const ledger of ledgers) {
      const { record, history, status } = ledger;
      for (const rule of rulesOf(status?.origin ?? 'twin')) {
        const state = this.stateOf(ledger, rule);
        if (!state.isOpen && !status) continue;
        const found = burning(rule, record.goal, (seconds) => history.over(seconds, wallMs));
        const change = state.take(found, nowMs);
        if (change === 'fires') this.fire(ledger, rule, found, state, decide, wallMs);
        if (change === 'resolves')
          this.endAll(this.openOf(ledger, rule), 'calm', decide, wallMs, () => {
            state.isOpen = true;
          });
      }
    }
    this.endOrphans(ledgers, decide, wallMs);
  }

  /** Throws 404. */
  acknowledge(id: string, note: string, by: string): Promise<SloAlert> {
    return this.collections.commit((batch) => {
      const alert = { ...this.alerts.get(id), acknowledged: { by, at_ms: Date.now(), note } };
      batch.put(this.alerts, alert);
      batch.also((transaction) =>
        this.events.appendIn(transaction, {
          type: 'slo.alert-acknowledged',
          subject: alert.chain_id,
          actor: by,
          message: `The alert about ${alert.slo_id} was acknowledged${note && `: ${note}`}`,
          data: { alert_id: id, slo_id: alert.slo_id, note },
        }),
      );
      return alert;
    });
  }

  /** Forgets the alerts of a chain that is gone. */
  forget(batch: Batch, chainId: string): void {
    for (const { id, chain_id } of this.alerts.all()) if (chain_id === chainId) batch.remove(this.alerts, id);
  }

  private stateOf({ record }: Ledger, rule: AlertRule): AlertState {
    const name = `${ledgerId(record)} ${ruleName(rule)}`;
    const known = this.states.get(name);
    if (known?.sinceMs === record.since_ms) return known.state;
    const open = this.openOf({ record }, rule).some(({ fired_ms }) => fired_ms >= record.since_ms);
    const state = new AlertState(rule, open);
    this.states.set(name, { ledger: ledgerId(record), sinceMs: record.since_ms, state });
    return state;
  }

  private openOf({ record }: Pick<Ledger, 'record'>, rule: AlertRule): SloAlert[] {
    return this.alerts
      .all()
      .filter(
        (alert) =>
          alert.state === 'open' && ledgerId(alert) === ledgerId(record) && ruleName(alert.rule) === ruleName(rule),
      );
  }

  private fire(
    ledger: Ledger,
    rule: AlertRule,
    found: Burning,
    state: AlertState,
    decide: Decide,
    wallMs: number,
  ): void {
    const { chain_id, slo_id } = ledger.record;
    this.alertOf(ledger, rule, found, wallMs)
      .then(async (alert) => {
        await this.collections.commit((batch) => {
          batch.put(this.alerts, alert);
          batch.also((transaction) =>
            this.events.appendIn(transaction, {
              type: 'slo.alert-fired',
              subject: chain_id,
              message: `Objective ${slo_id} uses up its budget ${times(alert.burn_long)} as fast as it lasts: ${alert.cause?.what ?? 'no cause found'}`,
              data: { alert_id: alert.id, ...pick(alert) },
            }),
          );
        });
        decide({
          subject: chain_id,
          what: `Alert about objective ${slo_id}`,
          why: alert.cause?.what ?? 'no cause found',
          inputs: { burn_long: alert.burn_long, burn_short: alert.burn_short },
          told: true,
        });
      })
      .catch((error: Error) => {
        state.isOpen = false;
        this.log.warn({ error: error.message, chain_id, slo_id }, 'an alert could not be stored');
      });
  }

  private async alertOf({ record, history }: Ledger, rule: AlertRule, found: Burning, wallMs: number) {
    const began_ms = history.violatedSinceMs() ?? wallMs;
    const { chain_id, slo_id } = record;
    const { cause, place } = await this.explain(chain_id, record.kind, began_ms);
    return SloAlert.parse({
      id: newId('alert'),
      chain_id,
      slo_id,
      rule,
      state: 'open',
      began_ms,
      fired_ms: wallMs,
      resolved_ms: null,
      resolution: null,
      burn_long: found.long ?? 0,
      burn_short: found.short ?? 0,
      left_share: budgetOf(history, record, wallMs).left_share,
      cause,
      place,
      acknowledged: null,
    });
  }

  private async explain(
    chainId: string,
    kind: string,
    beganMs: number,
  ): Promise<{ readonly cause: SloCause | null; readonly place: SloPlace | null }> {
    const { plan } = this.view;
    if (!plan) return { cause: null, place: null };
    const { infrastructure } = this.infrastructure.current;
    const growths = growthsOf(plan, chainId, beganMs, (keys, since) => this.telemetry.series(keys, since));
    const full = whereFuller(growths.fuller);
    const lost = this.dataPath.troublesOf(chainId)[0]?.what;
    const slower = kind === 'latency' ? whereSlower(growths.chain, growths.slower) : null;
    const measured = slower ?? (full && { nf: full.nf, what: full.what });
    const place = lost === undefined ? measured : { nf: null, what: lost.slice(0, 400) };
    const overload = full?.nf ? { nf: full.nf, lost_pps: full.lost_pps } : null;
    const events = await this.eventsAround(beganMs);
    return {
      cause: causeOf(events, siteOf(plan, chainId, infrastructure), beganMs, overload),
      place,
    };
  }

  private eventsAround(beganMs: number): Promise<Event[]> {
    return this.source.after(`${Math.max(0, Math.floor(beganMs - BEFORE_MS))}-0`, MOST_EVENTS);
  }

  /** Alerts of objectives that are no longer, or are others now. */
  private endOrphans(ledgers: readonly Ledger[], decide: Decide, wallMs: number): void {
    const known = new Map(ledgers.map(({ record }) => [ledgerId(record), record]));
    for (const [name, { ledger }] of this.states) if (!known.has(ledger)) this.states.delete(name);
    const open = this.alerts.all().filter(({ state }) => state === 'open');
    const removed = open.filter((alert) => !known.has(ledgerId(alert)));
    const changed = open.filter((alert) => alert.fired_ms < (known.get(ledgerId(alert))?.since_ms ?? 0));
    this.endAll(removed, 'removed', decide, wallMs);
    this.endAll(changed, 'changed', decide, wallMs);
  }

  private endAll(
    alerts: readonly SloAlert[],
    resolution: NonNullable<SloAlert['resolution']>,
    decide: Decide,
    wallMs: number,
    failed: () => void = () => undefined,
  ): void {
    for (const { id, chain_id, slo_id } of alerts) {
      if (this.ending.has(id)) continue;
      this.ending.add(id);
      this.collections
        .commit((batch) => {
          const alert = this.alerts.find(id);
          if (alert?.state !== 'open') return;
          batch.put(this.alerts, { ...alert, state: 'resolved', resolved_ms: wallMs, resolution });
          batch.also((transaction) =>
            this.events.appendIn(transaction, {
              type: 'slo.alert-resolved',
              subject: chain_id,
              message: `The alert about ${slo_id} is over: ${WORDS[resolution]}`,
              data: { alert_id: id, slo_id, resolution },
            }),
          );
        })
        .then(() =>
          decide({
            subject: chain_id,
            what: `Alert about objective ${slo_id} is over`,
            why: WORDS[resolution],
            inputs: {},
            told: true,
          }),
        )
        .catch((error: Error) => {
          failed();
          this.log.warn({ error: error.message, id }, 'an alert could not be resolved');
        })
        .finally(() => this.ending.delete(id));
    }
  }
}

const WORDS: Readonly<Record<NonNullable<SloAlert['resolution']>, string>> = {
  calm: 'its budget burns no faster than it may',
  changed: 'the objective was changed',
  removed: 'there is no such objective any more',
};

const times = (rate: number) => `${rate < 10 ? rate.toPrecision(2) : rate.toFixed(0)} times`;

function pick({ slo_id, rule, burn_long, burn_short, left_share, cause }: SloAlert) {
  return { slo_id, rule, burn_long, burn_short, left_share, cause };
}

/** Open before resolved, then the more severe, the faster, the newer. */
function worstFirst(a: SloAlert, b: SloAlert): number {
  if (a.state !== b.state) return a.state === 'open' ? -1 : 1;
  if (a.state === 'resolved') return b.fired_ms - a.fired_ms;
  return RANK[a.rule.severity] - RANK[b.rule.severity] || b.burn_long - a.burn_long || b.fired_ms - a.fired_ms;
}
