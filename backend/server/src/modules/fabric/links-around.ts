import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import { type Infrastructure, type LinkSample, Name } from '@orrery/contract';
import { avoiding } from '@orrery/planner';
import { z } from 'zod';
import { COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { KEYS } from '../../platform/redis-keys.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { type LinkStates, reportersOf, reportsOf } from '../../ports/link-states.js';
import { isUnheard, SWITCH_FLEET, type SwitchFleet } from '../../ports/switch-fleet.js';
import { TELEMETRY, type Telemetry } from '../../ports/telemetry.js';
import { TWIN, type TwinView } from '../../ports/twin-view.js';
import { LostSwitches } from './lost-switches.js';

/** A link is used again when it has been told to be up for so long. */
const STABLE_MS = 5000;
/** No link is newly told to be up or down by what the twin said longer ago. */
const SILENT_MS = 5000;
/** As many links as an infrastructure has at most. */
const MOST_LINKS = 4096;

/** That a link was told to be down, and by whom. */
const Told = z.strictObject({ link: Name, by: z.array(z.string()) });
type Told = z.infer<typeof Told>;

/** Why packets go around a link. */
interface Trouble {
  /** Who told that it is down: silence of them does not mean that it is up. */
  readonly by: readonly string[];
  /** Since when all of them have told that it is up again; null: they do not. */
  readonly upSinceMs: number | null;
}

/**
 * Links between switches that are down, or have not been told to be up for long, and those of switches that are lost, by a
 * monotonic clock. Who told so is stored: they are waited for by the next server, too.
 */
@Injectable()
export class LinksAround implements LinkStates, OnModuleInit, OnApplicationBootstrap {
  private readonly told: DurableCollection<Told>;
  private isStoring = false;
  private readonly listeners: (() => void)[] = [];
  private samples: { readonly links: ReadonlyMap<string, LinkSample>; readonly atMs: number } = {
    links: new Map(),
    atMs: Number.NEGATIVE_INFINITY,
  };
  private troubles: ReadonlyMap<string, Trouble> = new Map();
  private readonly lost = new LostSwitches();
  private known: { of: Infrastructure; avoided: ReadonlySet<string>; routed: Infrastructure } | null = null;

  constructor(
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(SWITCH_FLEET) private readonly fleet: SwitchFleet,
    @Inject(TELEMETRY) private readonly telemetry: Telemetry,
    @Inject(TWIN) private readonly twin: Pick<TwinView, 'enabled'>,
    @Inject(COLLECTIONS) private readonly collections: Collections,
  ) {
    this.told = collections.open({
      key: KEYS.linksAround,
      noun: 'link that packets go around',
      schema: Told,
      version: 1,
      idOf: ({ link }) => link,
      bound: { most: MOST_LINKS, policy: 'refuse' },
    });
  }

  async onModuleInit(): Promise<void> {
    await this.told.load();
    this.troubles = new Map(this.told.all().map(({ link, by }) => [link, { by, upSinceMs: null }]));
  }

  onApplicationBootstrap(): void {
    this.telemetry.onSamples((_, links) => {
      const atMs = performance.now();
      if (links.length > 0) this.samples = { links: new Map(links.map((link) => [link.link_id, link])), atMs };
      if (links.length > 0 || this.troubles.size > 0 || !this.isStored()) this.look(atMs);
    });
    this.fleet.onChange(() => this.look(performance.now()));
    this.infrastructure.onChange(() => this.look(performance.now()));
  }

  get avoided(): ReadonlyMap<string, readonly string[]> {
    const { lostSwitches } = this;
    const isAtLost = ({ a, b }: Infrastructure['links'][number]) =>
      lostSwitches.has(a.node) || lostSwitches.has(b.node);
    const ofLost = lostSwitches.size === 0 ? [] : this.between.filter(isAtLost);
    return new Map([
      ...ofLost.map(({ id }): [string, readonly string[]] => [id, []]),
      ...[...this.troubles].map(([link, { by }]): [string, readonly string[]] => [link, by]),
    ]);
  }

  get lostSwitches(): ReadonlySet<string> {
    return this.lost.all;
  }

  tellPassage(passage: ReadonlyMap<string, boolean>): void {
    const nowMs = performance.now();
    this.lost.take(passage, nowMs);
    if (passage.size > 0 || this.lost.isWaiting) this.look(nowMs);
  }

  get routed(): Infrastructure {
    const { infrastructure } = this.infrastructure.current;
    const avoided = new Set(this.avoided.keys());
    if (avoided.size === 0) return infrastructure;
    if (this.known?.of !== infrastructure || !isSame(this.known.avoided, avoided))
      this.known = { of: infrastructure, avoided, routed: avoiding(infrastructure, avoided) };
    return this.known.routed;
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** The links between switches. */
  private get between() {
    const { switches, links } = this.infrastructure.current.infrastructure;
    const ids = new Set(switches.map(({ id }) => id));
    return links.filter(({ a, b }) => ids.has(a.node) && ids.has(b.node));
  }

  private look(nowMs: number): void {
    const links = this.between;
    if (links.length === 0 && this.troubles.size === 0 && !this.lost.isWaiting && this.isStored()) return;
    const before = new Set(this.avoided.keys());
    const ends = [...new Set(links.flatMap(({ a, b }) => [a.node, b.node]))];
    this.lost.look(ends, (id) => !isUnheard(this.fleet, id), nowMs);
    const emulated = nowMs - this.samples.atMs < SILENT_MS ? this.samples.links : new Map<string, LinkSample>();
    const observed = (id: string) => (this.fleet.isConnected(id) ? this.fleet.observedSwitch(id) : null);
    const next = new Map<string, Trouble>();
    for (const link of links) {
      // Who is gone is not waited for.
      const reporters = reportersOf(link).filter((who) => who !== 'twin' || this.twin.enabled);
      const by = this.troubles.get(link.id)?.by.filter((who) => reporters.includes(who)) ?? [];
      const upSinceMs = this.troubles.get(link.id)?.upSinceMs ?? null;
      const toldMs = by.includes('twin') ? this.samples.atMs : nowMs;
      const trouble = troubleAfter({ by, upSinceMs }, reportsOf(link, emulated, observed), toldMs);
      if (trouble) next.set(link.id, trouble);
    }
    this.troubles = next;
    if (!isSame(before, new Set(this.avoided.keys()))) for (const listener of this.listeners) listener();
    if (!this.isStoring) void this.store();
  }

  private isStored(): boolean {
    const all = this.told.all();
    return all.length === this.troubles.size && all.every(({ link, by }) => isWhole(by, this.troubles.get(link)));
  }

  /** What could not be stored is tried again at the next look. */
  private async store(): Promise<void> {
    this.isStoring = true;
    while (!this.isStored()) {
      const stored = this.collections.commit((batch) => {
        for (const { link } of this.told.all()) if (!this.troubles.has(link)) batch.remove(this.told, link, null);
        for (const [link, trouble] of this.troubles)
          if (!isWhole(this.told.find(link)?.by ?? [], trouble)) batch.put(this.told, { link, by: [...trouble.by] });
      });
      const isDone = await stored.then(
        () => true,
        () => false,
      );
      if (!isDone) break;
    }
    this.isStoring = false;
  }
}

/** `toldMs`: when the last of the reports came. Null: packets may take the link. */
function troubleAfter(
  { by, upSinceMs }: Trouble,
  reports: ReadonlyMap<string, boolean>,
  toldMs: number,
): Trouble | null {
  const down = [...reports].flatMap(([who, isUp]) => (isUp ? [] : who));
  if (down.length > 0) return { by: [...new Set([...by, ...down])], upSinceMs: null };
  if (by.length === 0) return null;
  if (!by.every((who) => reports.get(who))) return { by, upSinceMs: null };
  const sinceMs = upSinceMs ?? toldMs;
  return toldMs - sinceMs >= STABLE_MS ? null : { by, upSinceMs: sinceMs };
}

function isWhole(by: readonly string[], trouble: Trouble | undefined): boolean {
  return trouble !== undefined && isSame(new Set(by), new Set(trouble.by));
}

function isSame(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((id) => b.has(id));
}
