import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Infrastructure, LinkSample, Plan, Sample } from '@orrery/contract';
import { grouped } from '@orrery/planner';
import type { ControlLoop } from '../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { LoopRun } from '../../platform/control-loop/definition.js';
import type { DataPath } from '../../ports/data-path.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { SWITCH_FLEET, type SwitchFleet } from '../../ports/switch-fleet.js';
import { TELEMETRY, type Telemetry } from '../../ports/telemetry.js';
import { type Break, breakIn, isOver } from './breaks.js';
import { causeOf, cutOffHosts, downLinks } from './down-links.js';
import { PacketMeter } from './packet-meter.js';
import { type Section, sectionsOf } from './sections.js';

const TICK_MS = 500;
const BACKOFF = { firstMs: TICK_MS, mostMs: 5000 };
const DEADLINE_MS = 5000;
/** A chain is judged when its counters have been the same ones for this long. */
const SETTLE_MS = 3000;

interface ChainPath {
  readonly sections: readonly Section[];
  /** When it became this; monotonic clock. */
  readonly sinceMs: number;
}

/** Compares what each part of a deployed chain passes on with what arrives at the next one. */
@Injectable()
export class DataPathService implements DataPath, OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: ControlLoop;
  private readonly meter = new PacketMeter();
  private readonly listeners: (() => void)[] = [];
  private followed: { readonly plan: Plan | null; readonly switches: Infrastructure['switches'] } = {
    plan: null,
    switches: [],
  };
  private paths: ReadonlyMap<string, ChainPath> = new Map();
  private counters: ReadonlySet<string> = new Set();
  private breaks: ReadonlyMap<string, readonly Break[]> = new Map();
  /** What is wrong with each chain, one line each. */
  private troubles: ReadonlyMap<string, readonly string[]> = new Map();
  private links: ReadonlyMap<string, LinkSample> = new Map();

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(TELEMETRY) private readonly telemetry: Telemetry,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(SWITCH_FLEET) private readonly fleet: SwitchFleet,
  ) {
    this.loop = loops.add({
      id: 'data-path',
      title: 'Data path',
      purpose: 'Compares what each part of a chain passes on with what arrives at the next one.',
      tickMs: TICK_MS,
      backoff: BACKOFF,
      deadlineMs: DEADLINE_MS,
      run: async (run) => this.look(run, performance.now()),
    });
  }

  onApplicationBootstrap(): void {
    this.telemetry.onSamples((samples, links) => {
      this.count(samples, performance.now());
      if (links.length > 0) this.links = new Map(links.map((link) => [link.link_id, link]));
    });
    this.loop.wake();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  breaksOf(chainId: string): readonly string[] {
    return this.troubles.get(chainId) ?? [];
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  private count(samples: readonly Sample[], nowMs: number): void {
    for (const { key, value } of samples) if (this.counters.has(key)) this.meter.take(key, value, nowMs);
  }

  private look({ decide }: LoopRun, nowMs: number): undefined {
    if (this.loop.status().paused) return;
    this.follow(nowMs);
    const breaks = new Map<string, readonly Break[]>();
    const troubles = new Map<string, readonly string[]>();
    const { infrastructure } = this.infrastructure.current;
    const observed = (id: string) => (this.fleet.isConnected(id) ? this.fleet.observedSwitch(id) : null);
    const down = downLinks(infrastructure, this.links, observed);
    const cutOff = new Map(
      (this.followed.plan?.chains ?? []).map((chain) => [chain.chain_id, cutOffHosts(chain, infrastructure, down)]),
    );
    for (const [chainId, { sections, sinceMs }] of this.paths) {
      if (nowMs - sinceMs < SETTLE_MS) continue;
      const before = this.breaks.get(chainId) ?? [];
      const found = sections.flatMap((section) => {
        const last = before.find((each) => each.section === section);
        return breakIn(section, this.meter, nowMs) ?? (last && !isOver(last, this.meter, nowMs) ? last : []);
      });
      if (found.length > 0) breaks.set(chainId, found);
      const words = found.map((each) => causeOf(each.section, down, infrastructure) ?? textOf(each));
      const lines = [...new Set([...(cutOff.get(chainId) ?? []), ...words])];
      if (lines.length > 0) troubles.set(chainId, lines);
      const [last, now] = [this.breaksOf(chainId).join('; '), lines.join('; ')];
      if (now === last) continue;
      // What begins or ends the degradation of the chain is told by the event of its deployment.
      const { state, reason } = this.view.deployment(chainId) ?? {};
      const told = now ? state === 'running' : reason === last;
      const [what, why] = now ? ['Packets are lost', now] : ['Packets arrive', 'No section loses every packet'];
      decide({ subject: chainId, what, why, inputs: { packets: found[0]?.packets ?? 0 }, told });
    }
    this.breaks = breaks;
    this.tell(troubles);
  }

  /** Takes over the sections of what is deployed; those of a chain that has not changed stay. */
  private follow(nowMs: number): void {
    const { plan } = this.view;
    const { switches } = this.infrastructure.current.infrastructure;
    if (plan === this.followed.plan && switches === this.followed.switches) return;
    this.followed = { plan, switches };
    const sections = plan ? sectionsOf(plan, switches) : [];
    this.paths = new Map(
      [...grouped(sections, ({ chain_id }) => chain_id)].map(([id, own]) => {
        const past = this.paths.get(id);
        const isSame = past && JSON.stringify(past.sections) === JSON.stringify(own);
        return [id, isSame ? past : { sections: own, sinceMs: nowMs }];
      }),
    );
    this.counters = new Set(sections.flatMap(({ from, to }) => [...from.passes, ...to.receives]));
    this.meter.keepOnly(this.counters);
  }

  private tell(troubles: ReadonlyMap<string, readonly string[]>): void {
    const isSame = JSON.stringify([...this.troubles]) === JSON.stringify([...troubles]);
    this.troubles = troubles;
    if (isSame) return;
    for (const listener of this.listeners) listener();
  }
}

function textOf({ section: { from, to } }: Break): string {
  return `no packet from ${from.label} arrives at ${to.label}`;
}
