import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { type AlertRule, type Event, MOST_REACTIONS, SloAlert, type SloCause } from '@orrery/contract';
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
import type { Violation } from '../budget/seconds-history.js';
import { type Ledger, type LedgerRecord, ledgerId, type SloLedgers } from '../ledger/slo-ledgers.js';
import { BEFORE_MS, causeOf, reactionsOf, siteOf } from './causes.js';
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

  /** Fires and resolves alerts by what the ledgers say now. Times of both clocks. */
  judge(ledgers: Pick<SloLedgers, 'all' | 'clock'>, decide: Decide, wallMs: number, monotonicMs: number): void {
    const { clock } = ledgers;
    const nowMs = clock.at(wallMs, monotonicMs);
    for (const ledger of ledgers.all()) {
      const { record, history, status } = ledger;
      for (const rule of rulesOf(status?.origin ?? 'twin')) {
        const state = this.stateOf(ledger, rule);
        if (!state.isOpen && !status) continue;
        const found = burning(rule, record.goal, (seconds) => history.over(seconds, nowMs));
        const change = state.take(found, history.judged_s);
        if (change === 'fires') {
          const { began_ms, seen_ms } = history.violation() ?? { began_ms: nowMs, seen_ms: nowMs };
          const violation = { began_ms: clock.wallOf(began_ms), seen_ms: clock.wallOf(seen_ms) };
          const { left_share } = budgetOf(history, record, nowMs);
          this.fire({ record, rule, found, violation, left_share }, state, decide, wallMs);
        }
        if (change === 'resolves')
          this.endAll(this.openOf(ledger, rule), 'calm', decide, wallMs, () => {
            state.isOpen = true;
          });
      }
    }
    this.endOrphans(ledgers.all(), decide, wallMs);
  }

  openNumber(chainId: string, sloId: string, severity: AlertRule['severity']): number {
    return this.alerts
      .all()
      .filter(
        ({ chain_id, slo_id, state, rule }) =>
          state === 'open' && chain_id === chainId && slo_id === sloId && rule.severity === severity,
      ).length;
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
    const open = this.openOf({ record }, rule).some((alert) => isOf(alert, record));
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

  private fire(fired: Fired, state: AlertState, decide: Decide, wallMs: number): void {
    const { chain_id, slo_id } = fired.record;
    this.alertOf(fired, wallMs)
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

  private async alertOf({ record, rule, found, violation, left_share }: Fired, wallMs: number): Promise<SloAlert> {
    const { chain_id, slo_id, since_ms } = record;
    const { cause, place, reactions } = await this.explain(chain_id, record.kind, violation, wallMs);
    return SloAlert.parse({
      id: newId('alert'),
      chain_id,
      slo_id,
      rule,
      state: 'open',
      since_ms,
      began_ms: violation.began_ms,
      fired_ms: wallMs,
      resolved_ms: null,
      resolution: null,
      burn_long: found.long ?? 0,
      burn_short: found.short ?? 0,
      left_share,
      cause,
      reactions,
      place,
      acknowledged: null,
    });
  }

  private async explain(
    chainId: string,
    kind: string,
    violation: Violation,
    nowMs: number,
  ): Promise<Pick<SloAlert, 'cause' | 'reactions' | 'place'>> {
    const { plan } = this.view;
    if (!plan) return { cause: null, place: null, reactions: [] };
    const { infrastructure } = this.infrastructure.current;
    const growths = growthsOf(plan, chainId, violation.began_ms, (keys, since) => this.telemetry.series(keys, since));
    const full = whereFuller(growths.fuller);
    const lost = this.dataPath.troublesOf(chainId)[0]?.what;
    const slower = kind === 'latency' ? whereSlower(growths.chain, growths.slower) : null;
    const measured = slower ?? (full && { nf: full.nf, what: full.what });
    const place = lost === undefined ? measured : { nf: null, what: lost.slice(0, 400) };
    const overload = full?.nf ? { nf: full.nf, lost_pps: full.lost_pps } : null;
    const site = siteOf(plan, chainId, infrastructure);
    const cause = causeOf(await this.eventsBefore(violation), site, violation, overload);
    return { cause, place, reactions: await this.reactions(chainId, violation, nowMs) };
  }

  /** The latest before a violation was seen, within the time in which a cause is looked for. */
  private eventsBefore({ began_ms, seen_ms }: Violation): Promise<Event[]> {
    return this.source.before(idAt(seen_ms + 1), idAt(began_ms - BEFORE_MS), MOST_EVENTS);
  }

  private async reactions(chainId: string, violation: Violation, untilMs: number): Promise<SloCause[]> {
    const { plan } = this.view;
    if (!plan) return [];
    const site = siteOf(plan, chainId, this.infrastructure.current.infrastructure);
    return reactionsOf(await this.source.after(idAt(violation.began_ms), MOST_EVENTS), site, violation, untilMs);
  }

  /** Alerts of objectives that are no longer, or are others now. */
  private endOrphans(ledgers: readonly Ledger[], decide: Decide, wallMs: number): void {
    const known = new Map(ledgers.map(({ record }) => [ledgerId(record), record]));
    for (const [name, { ledger }] of this.states) if (!known.has(ledger)) this.states.delete(name);
    const open = this.alerts.all().filter(({ state }) => state === 'open');
    const removed = open.filter((alert) => !known.has(ledgerId(alert)));
    const changed = open.filter((alert) => {
      const record = known.get(ledgerId(alert));
      return record && !isOf(alert, record);
    });
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
    for (const { id, chain_id, slo_id, fired_ms } of alerts) {
      if (this.ending.has(id)) continue;
      this.ending.add(id);
      this.reactions(chain_id, { began_ms: fired_ms, seen_ms: fired_ms }, wallMs)
        .then((later) =>
          this.collections.commit((batch) => {
            const alert = this.alerts.find(id);
            if (alert?.state !== 'open') return;
            const reactions = [...alert.reactions, ...later].slice(0, MOST_REACTIONS);
            batch.put(this.alerts, { ...alert, state: 'resolved', resolved_ms: wallMs, resolution, reactions });
            batch.also((transaction) =>
              this.events.appendIn(transaction, {
                type: 'slo.alert-resolved',
                subject: chain_id,
                message: `The alert about ${slo_id} is over: ${WORDS[resolution]}`,
                data: { alert_id: id, slo_id, resolution },
              }),
            );
          }),
        )
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

interface Fired {
  readonly record: LedgerRecord;
  readonly rule: AlertRule;
  readonly found: Burning;
  /** By the wall clock. */
  readonly violation: Violation;
  readonly left_share: number;
}

/** Whether the alert is about the seconds that are counted now. */
function isOf({ since_ms, fired_ms }: SloAlert, record: LedgerRecord): boolean {
  return since_ms === undefined ? fired_ms >= record.since_ms : since_ms === record.since_ms;
}

/** Before every event of this time. */
const idAt = (ms: number) => `${Math.max(0, Math.floor(ms))}-0`;

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
