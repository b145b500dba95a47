import { Controller, Inject, Res } from '@nestjs/common';
import type { PacketTraces, RouteInput, SwitchNode, SwitchSamples, SwitchState } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { pageOf } from '../../platform/paging.js';
import { conflict, notFound } from '../../platform/problem.js';
import { Input, Route } from '../../platform/route.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { LINK_STATES, type LinkStates } from '../../ports/link-states.js';
import { SWITCH_FLEET, type SwitchFleet } from '../../ports/switch-fleet.js';
import { TELEMETRY, type Telemetry } from '../../ports/telemetry.js';
import { FabricControl } from './fabric-control.js';
import { entryStates, plannedOf, ruleStates } from './switch-state.js';

@Controller()
export class SwitchesController {
  constructor(
    @Inject(FabricControl) private readonly control: FabricControl,
    @Inject(SWITCH_FLEET) private readonly fleet: SwitchFleet,
    @Inject(TELEMETRY) private readonly telemetry: Telemetry,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(LINK_STATES) private readonly links: Pick<LinkStates, 'lostSwitches'>,
  ) {}

  @Route('listSwitches')
  list(@Input() { query }: RouteInput<'listSwitches'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const switches = this.nodes.map((node) => this.stateOf(node));
    return pageOf(switches, query, ({ id }) => id, reply);
  }

  @Route('getSwitch')
  get(@Input() { params }: RouteInput<'getSwitch'>): SwitchState {
    return this.stateOf(this.node(params.id));
  }

  @Route('listSwitchRules')
  rules(@Input() { params, query }: RouteInput<'listSwitchRules'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const node = this.node(params.id);
    const spec = this.control.specOf(node.id);
    const rules = spec ? ruleStates(spec, this.control.rules, this.counters(node)) : [];
    return pageOf(rules, query, ({ rule_id }) => rule_id, reply);
  }

  @Route('listSwitchEntries')
  entries(
    @Input() { params, query }: RouteInput<'listSwitchEntries'>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const node = this.node(params.id);
    const spec = this.control.specOf(node.id);
    const entries = spec ? entryStates(spec, this.control.rules, this.counters(node)) : [];
    const chosen = entries.filter(
      ({ table, chain_id, rule_id }) =>
        (!query.table || table === query.table) &&
        (!query.chain_id || chain_id === query.chain_id) &&
        (!query.rule_id || rule_id === query.rule_id),
    );
    return pageOf(chosen, query, ({ index }) => String(index), reply);
  }

  @Route('armTraces')
  arm(@Input() { params, body }: RouteInput<'armTraces'>): Promise<PacketTraces> {
    return this.fleet.traces(this.tracing(params.id), 'arm_traces', body);
  }

  @Route('listTraces')
  traces(@Input() { params, query }: RouteInput<'listTraces'>): Promise<PacketTraces> {
    return this.fleet.traces(this.tracing(params.id), 'read_traces', query);
  }

  private tracing(id: string): string {
    this.node(id);
    const description = this.fleet.switchDescription(id);
    if (description?.abilities.traces) return id;
    throw conflict(
      description
        ? `${id} runs the driver ${description.driver}, which leaves no traces of packets.`
        : `The agent of ${id} has never connected.`,
    );
  }

  /** Null while the switch is not connected, or still has its driver of before: they are out of date. */
  private counters(node: SwitchNode): SwitchSamples | null {
    const isCurrent = this.fleet.isConnected(node.id) && this.control.lackOf(node) === null;
    return isCurrent ? this.telemetry.switchCounters(node.id) : null;
  }

  private get nodes(): readonly SwitchNode[] {
    return this.infrastructure.current.infrastructure.switches;
  }

  private node(id: string): SwitchNode {
    const node = this.nodes.find((each) => each.id === id);
    if (!node) throw notFound('switch', id);
    return node;
  }

  private stateOf(node: SwitchNode): SwitchState {
    const { id, origin, program } = node;
    const spec = this.control.specOf(id);
    const description = this.fleet.switchDescription(id);
    const changing = this.control.lackOf(node);
    return {
      id,
      origin,
      ...(program !== undefined && { program }),
      connected: this.fleet.isConnected(id),
      description,
      planned: spec && plannedOf(spec, node, description),
      ...(changing !== null && { changing }),
      ...(this.links.lostSwitches.has(id) && { lost: true }),
      observed: changing === null ? this.fleet.observedSwitch(id) : null,
      counted_ms: (changing === null && this.telemetry.switchCounters(id)?.t_ms) || null,
    };
  }
}
