import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { type AlertRule, type Event, MOST_REACTIONS, type Severity, SloAlert, type SloCause } from '@orrery/contract';
import type { LoopRun } from '../../../platform/control-loop/definition.js';
import { type Batch, COLLECTIONS, type Collections } from '../../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../../platform/durable-collection/durable-collection.js';
import { newId } from '../../../platform/ids.js';
import { LOG, type Log } from '../../../platform/log.js';
import { KEYS } from '../../../platform/redis-keys.js';
import { DATA_PATH, type DataPath } from '../../../ports/data-path.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../../ports/deployment-view.js';
import { EVENT_LOG, EVENT_SOURCE, type EventLog, type EventSource } from '../../../ports/event-log.js';
import { EXCLUSIONS, type Exclusions } from '../../../ports/exclusions.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../../ports/infrastructure-store.js';
import { LINK_STATES, type LinkStates } from '../../../ports/link-states.js';
import { NOT_KEPT_CHAINS, type NotKeptChains } from '../../../ports/not-kept-chains.js';
import { TELEMETRY, type Telemetry } from '../../../ports/telemetry.js';
import { AlertState, type Burning, burning, ruleName, rulesOf } from '../budget/alert-rules.js';
import { budgetOf } from '../budget/budget.js';
import type { Violation } from '../budget/seconds-history.js';
import { AVAILABILITY_WINDOW_S } from '../evaluate.js';
import { type Ledger, type LedgerRecord, ledgerId, type SloLedgers } from '../ledger/slo-ledgers.js';
import { BEFORE_MS, type ChainSite, causeOf, reactionsOf, TOLD_LATE_MS } from './causes.js';
import { growthsOf } from './growths.js';
import { whereFuller, whereSlower } from './places.js';
import { SiteMemory } from './site-memory.js';

/** Resolved alerts beyond this number are forgotten, those first that have been over for longest. */
const MOST_ALERTS = 1000;
/** Events that are read for one cause, twice. */
const MOST_EVENTS = 2000;
/** After every event. */
const END_ID = '18446744073709551615-0';
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
  private readonly sites = new SiteMemory();
  /** Alerts without a cause, by id, and what was lost when it was looked for. */
  private readonly unexplained = new Map<string, { readonly fired: Fired; readonly lost: ReadonlySet<string> }>();

  constructor(
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(EVENT_SOURCE) private readonly source: EventSource,
    @Inject(TELEMETRY) private readonly telemetry: Telemetry,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(DATA_PATH) private readonly dataPath: DataPath,
    @Inject(NOT_KEPT_CHAINS) private readonly notKept: NotKeptChains,
    @Inject(EXCLUSIONS) private readonly exclusions: Pick<Exclusions, 'lost_servers'>,
    @Inject(LINK_STATES) private readonly links: Pick<LinkStates, 'lostSwitches'>,
    @Inject(LOG) private readonly log: Log,
  ) {
    this.alerts = collections.open<SloAlert>({
      key: KEYS.sloAlerts,
      noun: 'alert',
      schema: SloAlert,
      version: 1,
      idOf: ({ id }) => id,
      numbered: 'in-order',
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
    this.sites.follow(this.view.plan, nowMs);
    for (const ledger of ledgers.all()) {
      const { record, history, status } = ledger;
      const { lastSeen } = history;
      if (lastSeen) this.sites.see(ledgerId(record), record.chain_id, lastSeen, this.network);
      for (const rule of rulesOf(status?.origin ?? 'twin')) {
        const state = this.stateOf(ledger, rule);
        if (!state.isOpen && !status) continue;
        const found = burning(rule, record.goal, (seconds) => history.over(seconds, nowMs));
        const change = state.take(found, history.judged_s);
        if (change === 'fires') {
          const violation = history.violation() ?? { began_ms: nowMs, seen_ms: nowMs };
          const site = this.sites.of(ledgerId(record), record.chain_id, violation, this.network);
          const { began_ms, seen_ms } = violation;
          const told = { began_ms: clock.saidAt(began_ms), seen_ms: clock.saidAt(seen_ms) };
          const { left_share } = budgetOf(history, record, nowMs);
          const untilMs = monotonicMs + BEFORE_MS;
          const fired = { record, rule, found, began_ms: clock.wallOf(began_ms), told, site, left_share, untilMs };
          this.fire(fired, state, decide, wallMs);
        }
        if (change === 'resolves')
          this.endAll(this.openOf(ledger, rule), 'calm', decide, wallMs, () => {
            state.isOpen = true;
          });
      }
    }
    this.endOrphans(ledgers.all(), decide, wallMs);
    this.explainLate(decide, wallMs, monotonicMs);
  }

  /** How many are open, by objective and severity; none where there is no entry. */
  openNumbers(): ReadonlyMap<string, Readonly<Partial<Record<Severity, number>>>> {
    const numbers = new Map<string, Partial<Record<Severity, number>>>();
    for (const alert of this.alerts.all()) {
      if (alert.state !== 'open') continue;
      const { severity } = alert.rule;
      const own = numbers.get(ledgerId(alert)) ?? {};
      numbers.set(ledgerId(alert), { ...own, [severity]: (own[severity] ?? 0) + 1 });
    }
    return numbers;
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
    const name = stateName(record, rule);
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
    const { lost } = this;
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
        if (alert.cause === null) this.unexplained.set(alert.id, { fired, lost });
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

  /** That something is lost is known after its grace time only, when the alert may have fired. */
  private explainLate(decide: Decide, wallMs: number, monotonicMs: number): void {
    const { lost } = this;
    for (const [id, { fired, lost: before }] of this.unexplained) {
      const { record, site, untilMs } = fired;
      const isNew = (part: string) => !before.has(part) && site.parts.has(part);
      if (monotonicMs > untilMs || this.alerts.find(id)?.state !== 'open') this.unexplained.delete(id);
      else if ([...lost].some(isNew)) {
        this.unexplained.set(id, { fired, lost });
        this.explain(fired, wallMs)
          .then(async ({ cause, reactions }) => {
            if (!cause) return;
            await this.collections.commit((batch) => {
              const alert = this.alerts.find(id);
              if (alert?.state === 'open') batch.put(this.alerts, { ...alert, cause, reactions });
            });
            this.unexplained.delete(id);
            const what = `Cause of the alert about objective ${record.slo_id}`;
            decide({ subject: record.chain_id, what, why: cause.what, inputs: {} });
          })
          .catch((error: Error) => this.log.warn({ error: error.message, id }, 'an alert could not be explained'));
      }
    }
  }

  private async alertOf(fired: Fired, wallMs: number): Promise<SloAlert> {
    const { record, rule, found, began_ms, left_share } = fired;
    const { chain_id, slo_id, since_ms } = record;
    const { cause, place, reactions } = await this.explain(fired, wallMs);
    return SloAlert.parse({
      id: newId('alert'),
      chain_id,
      slo_id,
      rule,
      state: 'open',
      since_ms,
      began_ms,
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
    { record, told, site }: Fired,
    nowMs: number,
  ): Promise<Pick<SloAlert, 'cause' | 'reactions' | 'place'>> {
    const { chain_id, kind } = record;
    const { plan } = this.view;
    if (!plan) return { cause: null, place: null, reactions: [] };
    const growths = growthsOf(plan, chain_id, told.began_ms, (keys, since) => this.telemetry.series(keys, since));
    const full = whereFuller(growths.fuller);
    const lost = this.dataPath.troublesOf(chain_id)[0]?.what;
    const slower = kind === 'latency' ? whereSlower(growths.chain, growths.slower) : null;
    const measured = slower ?? (full && { nf: full.nf, what: full.what });
    const place = lost === undefined ? measured : { nf: null, what: lost.slice(0, 400) };
    const overload = full?.nf ? { nf: full.nf, lost_pps: full.lost_pps } : null;
    const carriage = this.dataPath.carriage(chain_id, AVAILABILITY_WINDOW_S);
    const losesAll = carriage !== null && carriage !== 'unknown' && carriage.share === 0;
    const cause = causeOf(await this.eventsBefore(told), site, told, overload, losesAll, this.lost);
    return { cause, place, reactions: await this.reactions(site, told, nowMs) };
  }

  /**
   * The latest before a violation was seen, or soon after, within the time in which a cause is looked for, and the latest of all: ids never go back,
   * so that after a wall clock that was set back they are ahead of the times of their events.
   */
  private async eventsBefore({ began_ms, seen_ms }: Violation): Promise<Event[]> {
    const sinceId = idAt(began_ms - BEFORE_MS);
    const found = [
      ...(await this.source.before(idAt(seen_ms + TOLD_LATE_MS + 1), sinceId, MOST_EVENTS)),
      ...(await this.source.before(END_ID, sinceId, MOST_EVENTS)),
    ];
    return [...new Map(found.map((event) => [event.id, event])).values()];
  }

  private async reactions(site: ChainSite, violation: Violation, untilMs: number): Promise<SloCause[]> {
    if (!this.view.plan) return [];
    return reactionsOf(await this.source.after(idAt(violation.began_ms), MOST_EVENTS), site, violation, untilMs);
  }

  private get lost(): ReadonlySet<string> {
    return new Set([...this.exclusions.lost_servers, ...this.links.lostSwitches]);
  }

  private get network() {
    return this.infrastructure.current.infrastructure;
  }

  /** Alerts of objectives that are no longer, are others now or not deployed, or of rules that are not theirs any more. */
  private endOrphans(ledgers: readonly Ledger[], decide: Decide, wallMs: number): void {
    const known = new Map(ledgers.map((ledger) => [ledgerId(ledger.record), ledger]));
    for (const [name, { ledger }] of this.states) if (!known.has(ledger)) this.states.delete(name);
    this.sites.retain(known);
    const open = this.alerts.all().filter(({ state }) => state === 'open');
    if (open.length === 0) return;
    const planned = new Set(this.view.plan?.chains.map(({ chain_id }) => chain_id));
    for (const alert of open) {
      const ledger = known.get(ledgerId(alert));
      // One that healing left out for want of room loses everything, though nobody undeployed it.
      const isDeployed =
        planned.has(alert.chain_id) ||
        this.view.deployment(alert.chain_id) !== undefined ||
        this.notKept.isNotKept(alert.chain_id);
      if (!ledger) this.endAll([alert], 'removed', decide, wallMs);
      else if (!isOf(alert, ledger.record)) this.endAll([alert], 'changed', decide, wallMs);
      else if (!isDeployed || !isWatched(alert, ledger)) {
        this.endAll([alert], isDeployed ? 'changed' : 'undeployed', decide, wallMs);
        // It may burn on: where the rule watches it again, it fires anew.
        const kept = this.states.get(stateName(alert, alert.rule));
        if (kept) kept.state.isOpen = false;
      }
    }
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
      const site = this.sites.lately(chain_id, this.network);
      this.reactions(site, { began_ms: fired_ms, seen_ms: fired_ms }, wallMs)
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
  /** By the wall clock, if it was as right as now. */
  readonly began_ms: number;
  /** By the wall clock of then, as the events of then have it. */
  readonly told: Violation;
  readonly site: ChainSite;
  readonly left_share: number;
  /** Monotonic clock: until then a cause is looked for again. */
  readonly untilMs: number;
}

const stateName = (of: Pick<LedgerRecord, 'chain_id' | 'slo_id'>, rule: AlertRule) =>
  `${ledgerId(of)} ${ruleName(rule)}`;

/** Whether the rule of the alert watches the objective; true while this is not judged. */
function isWatched({ rule }: SloAlert, { status }: Ledger): boolean {
  return !status || rulesOf(status.origin).some((each) => ruleName(each) === ruleName(rule));
}

/** Whether the alert is about the seconds that are counted now. */
function isOf({ since_ms, fired_ms }: SloAlert, record: LedgerRecord): boolean {
  return since_ms === undefined ? fired_ms >= record.since_ms : since_ms === record.since_ms;
}

/** Before every event of this time. */
const idAt = (ms: number) => `${Math.max(0, Math.floor(ms))}-0`;

const WORDS: Readonly<Record<NonNullable<SloAlert['resolution']>, string>> = {
  calm: 'its budget burns no faster than it may',
  changed: 'the objective was changed, or other rules watch it now',
  removed: 'there is no such objective any more',
  undeployed: 'the chain is not deployed any more',
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
