import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { type Infrastructure, type Plan, type Sample, samplePrefix } from '@orrery/contract';
import { grouped } from '@orrery/planner';
import type { ControlLoop } from '../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { LoopRun } from '../../platform/control-loop/definition.js';
import type { Carriage, DataPath, PathTrouble } from '../../ports/data-path.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { DESCRIPTORS, type NfDescriptors } from '../../ports/descriptor-catalogue.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { downLinks, LINK_STATES, type LinkStates } from '../../ports/link-states.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { isUnheard, SWITCH_FLEET, type SwitchFleet } from '../../ports/switch-fleet.js';
import { TELEMETRY, type Telemetry } from '../../ports/telemetry.js';
import { arrives } from './breaks.js';
import { CarriageMeter } from './carriage.js';
import { ChainJudge, type Judgement } from './chain-judge.js';
import { cutOffReceivers, cutOffSenders } from './down-links.js';
import { refusalsOf } from './drop-fates.js';
import { EmulatedLinks } from './emulated-links.js';
import { whyFull } from './full-queues.js';
import { PacketMeter } from './packet-meter.js';
import { passageOf } from './passage.js';
import { type CountingNode, passedKey, refusedKey, type Section, sectionsOf, takenKey } from './sections.js';

const TICK_MS = 500;
const BACKOFF = { firstMs: TICK_MS, mostMs: 5000 };
const DEADLINE_MS = 5000;
/** An agent that has just connected has not yet counted what it missed. */
const HEARD_MS = 3000;
/** Switches report every second. */
const ENTERS_MS = 2000;
/** A chain is judged when its counters have been the same ones for this long. */
const SETTLE_MS = 3000;

/** Kinds of samples of what may drop packets. */
const COUNTED = [samplePrefix('instance'), samplePrefix('module')];

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
  private readonly carriageMeter: CarriageMeter;
  private readonly judge: ChainJudge;
  private readonly listeners: (() => void)[] = [];
  private followed: { readonly plan: Plan | null; readonly switches: Infrastructure['switches'] } = {
    plan: null,
    switches: [],
  };
  private paths: ReadonlyMap<string, ChainPath> = new Map();
  private counters: ReadonlySet<string> = new Set();
  private nodes: ReadonlyMap<string, readonly CountingNode[]> = new Map();
  private judgements: ReadonlyMap<string, Judgement> = new Map();
  private troubles: ReadonlyMap<string, readonly PathTrouble[]> = new Map();
  /** Since when the agent of each server is connected; monotonic clock. */
  private readonly heardSinceMs = new Map<string, number>();
  private readonly links = new EmulatedLinks();

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(TELEMETRY) private readonly telemetry: Telemetry,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(LINK_STATES) private readonly linkStates: LinkStates,
    @Inject(SWITCH_FLEET) private readonly fleet: SwitchFleet,
    @Inject(FLEET) private readonly servers: NodeFleet,
    @Inject(DESCRIPTORS) private readonly descriptors: NfDescriptors,
  ) {
    this.carriageMeter = new CarriageMeter((nf) => refusalsOf(descriptors.find(nf)));
    this.judge = new ChainJudge(this.meter, this.carriageMeter);
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
      const nowMs = performance.now();
      this.count(samples, nowMs);
      this.links.take(links, nowMs);
    });
    this.loop.wake();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  troublesOf(chainId: string): readonly PathTrouble[] {
    return this.troubles.get(chainId) ?? [];
  }

  carriage(chainId: string, seconds: number): Carriage | 'unknown' | null {
    return this.carriageMeter.carriage(chainId, seconds, performance.now());
  }

  delivers(chainId: string): boolean {
    return this.carriageMeter.delivers(chainId, performance.now());
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  private count(samples: readonly Sample[], nowMs: number): void {
    this.follow(nowMs);
    for (const { key, value } of samples) if (this.counters.has(key)) this.meter.take(key, value, nowMs);
    this.carriageMeter.take(samples, nowMs);
    if (!samples.some(({ key }) => COUNTED.some((prefix) => key.startsWith(prefix)))) return;
    const counters = () => ({ instances: this.telemetry.counters(), modules: this.telemetry.moduleCounters() });
    const refusedPerS = this.carriageMeter.drops.take(counters, nowMs);
    for (const [id, perS] of refusedPerS ?? []) this.meter.take(refusedKey(id), perS, nowMs);
  }

  private look({ decide }: LoopRun, nowMs: number): undefined {
    if (this.loop.status().paused) return;
    this.follow(nowMs);
    this.listen(nowMs);
    const infrastructure = this.linkStates.routed;
    const observed = (id: string) => (this.fleet.isConnected(id) ? this.fleet.observedSwitch(id) : null);
    const downNow = downLinks(infrastructure, this.links.reported(nowMs), observed);
    const chains = new Map((this.followed.plan?.chains ?? []).map((chain) => [chain.chain_id, chain]));
    const judgements = new Map<string, Judgement>();
    const troubles = new Map<string, readonly PathTrouble[]>();
    for (const [chainId, { sections, sinceMs }] of this.paths) {
      const chain = chains.get(chainId);
      if (!chain || nowMs - sinceMs < SETTLE_MS) continue;
      const parts = {
        chainId,
        sections,
        nodes: this.nodes.get(chainId) ?? [],
        whyFull: (queue: string) => whyFull(this.followed.plan!, queue),
      };
      const unmended = this.links.unmended(this.troublesOf(chainId), nowMs);
      const down = infrastructure.links.filter((link) => downNow.includes(link) || unmended.has(link.id));
      // What is known from before the twin fell silent holds for senders only while nothing enters.
      const enters = this.carriageMeter.entered(chainId, nowMs - ENTERS_MS, nowMs) > 0;
      const now = {
        infrastructure,
        down,
        lost: this.linkStates.lostSwitches,
        cutOff: [
          ...cutOffSenders(chain, infrastructure, enters ? downNow : down),
          ...cutOffReceivers(chain, infrastructure, down),
        ],
        areHeard: (servers: readonly string[]) => this.areHeard(servers, nowMs),
      };
      const judgement = this.judge.judge(parts, this.judgements.get(chainId), now, nowMs);
      judgements.set(chainId, judgement);
      const told = judgement.told.troubles;
      if (told.length > 0) troubles.set(chainId, told);
      this.explain(decide, chainId, told, judgement.breaks[0]?.packets ?? 0);
    }
    this.judgements = judgements;
    this.tell(troubles);
    this.tellPassage(infrastructure, nowMs);
  }

  /** What packets say of switches, as long as one of them does not answer. */
  private tellPassage(infrastructure: Infrastructure, nowMs: number): void {
    const isAsked =
      this.linkStates.lostSwitches.size > 0 || infrastructure.switches.some(({ id }) => isUnheard(this.fleet, id));
    const judged = isAsked ? [...this.paths].filter(([chainId]) => this.judgements.has(chainId)) : [];
    const broken = new Set([...this.judgements.values()].flatMap(({ breaks }) => breaks.map(({ section }) => section)));
    const seen = {
      isBroken: (section: Section) => broken.has(section),
      arrives: (section: Section) => arrives(section, this.meter, nowMs),
    };
    const sections = judged.flatMap(([, path]) => path.sections);
    this.linkStates.tellPassage(passageOf(sections, seen, infrastructure));
  }

  private areHeard(servers: readonly string[], nowMs: number): boolean {
    return servers.every((server) => nowMs - (this.heardSinceMs.get(server) ?? nowMs) >= HEARD_MS);
  }

  private listen(nowMs: number): void {
    for (const { id } of this.infrastructure.current.infrastructure.servers) {
      if (!this.servers.isConnected(id)) this.heardSinceMs.delete(id);
      else if (!this.heardSinceMs.has(id)) this.heardSinceMs.set(id, nowMs);
    }
  }

  private explain(decide: LoopRun['decide'], chainId: string, troubles: readonly PathTrouble[], packets: number): void {
    const textOf = (list: readonly PathTrouble[]) => list.map(({ what }) => what).join('; ');
    const [last, now] = [textOf(this.troublesOf(chainId)), textOf(troubles)];
    if (now === last) return;
    // What begins or ends the degradation of the chain is told by the event of its deployment.
    const { state, reason } = this.view.deployment(chainId) ?? {};
    const told = now ? state === 'running' : reason === last;
    const [what, why] = now ? ['Packets are lost', now] : ['Packets arrive', 'No section loses packets'];
    decide({ subject: chainId, what, why, inputs: { packets }, told });
  }

  /** Takes over the sections of what is deployed; those of a chain that has not changed stay. */
  private follow(nowMs: number): void {
    const { plan } = this.view;
    const { switches } = this.infrastructure.current.infrastructure;
    if (plan === this.followed.plan && switches === this.followed.switches) return;
    this.followed = { plan, switches };
    this.carriageMeter.follow(plan);
    const countsRefusals = (id: string) => this.carriageMeter.drops.countsRefusals(id);
    const answers = (nf: string) => this.descriptors.find(nf)?.actions.answers === true;
    const sections = plan ? sectionsOf(plan, switches, countsRefusals, answers) : [];
    this.paths = new Map(
      [...grouped(sections, ({ chain_id }) => chain_id)].map(([id, own]) => {
        const past = this.paths.get(id);
        const isSame = past && JSON.stringify(past.sections) === JSON.stringify(own);
        return [id, isSame ? past : { sections: own, sinceMs: nowMs }];
      }),
    );
    const counting = (plan?.graph.nodes ?? []).filter((node) => node.kind !== 'exit');
    this.nodes = grouped(counting, ({ chain_id }) => chain_id);
    const ofNodes = counting.flatMap((node) => [takenKey(node), passedKey(node)]);
    this.counters = new Set([...sections.flatMap(({ from, to }) => [...from.passes, ...to.receives]), ...ofNodes]);
    this.meter.keepOnly(this.counters);
  }

  private tell(troubles: ReadonlyMap<string, readonly PathTrouble[]>): void {
    const isSame = JSON.stringify([...this.troubles]) === JSON.stringify([...troubles]);
    this.troubles = troubles;
    if (isSame) return;
    for (const listener of this.listeners) listener();
  }
}
