import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { type ElementState, type Instance, nfInstances, ObservedElement } from '@orrery/contract';
import { conflict, notFound, ProblemError } from '../../platform/problem.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import type { ElementManagers } from '../../ports/element-managers.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { TELEMETRY, type Telemetry } from '../../ports/telemetry.js';
import { ElementFigures } from './element-figures.js';
import { softwareSince, type Told } from './told.js';

/** The element managers of instances, as their agents tell of them: the server keeps nothing that they do not say. */
@Injectable()
export class ElementManagersService implements ElementManagers, OnModuleInit {
  private readonly figures = new ElementFigures();
  /** What was last told of each instance of the plan. */
  private readonly told = new Map<string, Told>();
  /** Who has a call under way. */
  private readonly callers = new Map<string, string>();
  private readonly listeners: ((instanceId: string) => void)[] = [];

  constructor(
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(TELEMETRY) private readonly telemetry: Telemetry,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {}

  onModuleInit(): void {
    this.telemetry.onSamples((samples) => this.figures.take(samples, performance.now()));
    this.fleet.onChange((node) => this.look((server) => server === node));
    this.view.onChange(() => this.look(() => true));
    this.look(() => true);
  }

  all(): readonly ElementState[] {
    return this.instances.flatMap((instance) => this.stateOf(instance) ?? []);
  }

  state(instanceId: string): ElementState | null {
    const instance = this.find(instanceId);
    return instance ? this.stateOf(instance) : null;
  }

  softwareSince(instanceId: string): number | null {
    const isPlain = this.state(instanceId)?.accelerated === false;
    return (isPlain && this.told.get(instanceId)?.softwareMs) || null;
  }

  accelerate(instanceId: string, signal?: AbortSignal): Promise<ElementState> {
    return this.switchTo(instanceId, true, { signal });
  }

  release(instanceId: string, signal?: AbortSignal): Promise<ElementState> {
    return this.switchTo(instanceId, false, { signal });
  }

  onChange(listener: (instanceId: string) => void): void {
    this.listeners.push(listener);
  }

  /** Throws 404. */
  instance(instanceId: string): Instance {
    const instance = this.find(instanceId);
    if (!instance) throw notFound('NF instance', instanceId);
    return instance;
  }

  /** As the API asks for it. */
  required(instanceId: string): ElementState {
    const instance = this.instance(instanceId);
    const state = this.stateOf(instance);
    if (state) return state;
    if (!this.fleet.isConnected(instance.server))
      throw new ProblemError(502, `The agent of ${instance.server} is not connected.`);
    throw notFound('element manager that runs for instance', instanceId);
  }

  /** `by`: who asks; absent: the server. */
  async switchTo(
    instanceId: string,
    accelerated: boolean,
    { by, signal }: { by?: string | undefined; signal?: AbortSignal | undefined },
  ): Promise<ElementState> {
    const instance = this.instance(instanceId);
    const { server, nf } = instance;
    const known = this.observed(instance);
    if (this.fleet.isConnected(server) && !known)
      throw conflict(`${instanceId} cannot be switched now: it does not run, or ${nf} has no accelerated mode there.`);
    if (accelerated && known?.kinds.length === 0)
      throw conflict(
        `${server} has no accelerator for ${instanceId}: its processor lacks instructions that ${nf} needs.`,
      );
    if (by !== undefined) this.callers.set(instanceId, by);
    try {
      const method = accelerated ? 'accelerate' : 'release';
      const answer = ObservedElement.safeParse(await this.fleet.call(server, method, instanceId, {}, signal));
      if (!answer.success) throw new ProblemError(502, `The agent of ${server} sent a state that cannot be read.`);
      this.take(instance, answer.data);
      return { instance_id: instanceId, ...answer.data, ...this.figures.of(instanceId, performance.now()) };
    } finally {
      this.callers.delete(instanceId);
    }
  }

  private get instances(): readonly Instance[] {
    return nfInstances(this.view.plan?.graph);
  }

  private find(id: string): Instance | undefined {
    return this.instances.find((instance) => instance.id === id);
  }

  /** What its agent tells of it now; null: it does not run, its agent is away, or it cannot be switched. */
  private observed({ id, server }: Instance): ObservedElement | null {
    if (!this.fleet.isConnected(server)) return null;
    const seen = this.fleet.observed(server)?.instances.find((it) => it.id === id);
    return (seen?.state === 'running' && seen.element) || null;
  }

  private stateOf(instance: Instance): ElementState | null {
    const element = this.observed(instance);
    return element && { instance_id: instance.id, ...element, ...this.figures.of(instance.id, performance.now()) };
  }

  private look(isOn: (server: string) => boolean): void {
    const { instances } = this;
    const there = new Set(instances.map(({ id }) => id));
    for (const id of this.told.keys()) if (!there.has(id)) this.told.delete(id);
    for (const instance of instances) {
      const element = isOn(instance.server) ? this.observed(instance) : null;
      if (element) this.take(instance, element);
    }
    this.figures.follow(new Set(this.told.keys()));
  }

  /** What is first told of an instance is no change. */
  private take(instance: Instance, element: ObservedElement): void {
    const { id } = instance;
    const told = this.told.get(id);
    this.told.set(id, { element, softwareMs: softwareSince(told, element, Date.now()) });
    const before = told?.element;
    if (isDeepStrictEqual(before, element)) return;
    if (before && before.accelerated !== element.accelerated) this.record(instance, element.accelerated);
    for (const listener of this.listeners) listener(id);
  }

  private record({ id, chain_id, node_id, nf, server }: Instance, accelerated: boolean): void {
    const actor = this.callers.get(id);
    this.events.append({
      type: accelerated ? 'nf.accelerated' : 'nf.released',
      subject: id,
      message: accelerated ? `${id} uses an accelerator of ${server}` : `${id} works in software again`,
      data: { chain_id, node_id, nf, server },
      ...(actor === undefined ? {} : { actor }),
    });
  }
}
